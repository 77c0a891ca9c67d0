/** The least a Telegram bot can be: asks for updates and answers each at once. What the fake platform itself costs. */
import { Agent, request } from "node:http";

const [root = "", token = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

type Update = { readonly update_id: number; readonly message: { readonly chat: { readonly id: number } } };

function call(method: string, payload: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers: { "content-type": "application/json" } };
    request(`${root}/bot${token}/${method}`, options, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => resolve((JSON.parse(Buffer.concat(parts).toString()) as { result: unknown }).result));
    })
      .on("error", reject)
      .end(JSON.stringify(payload));
  });
}

for (let offset = 0; ;) {
  const updates = (await call("getUpdates", { offset, timeout: 30 })) as readonly Update[];
  for (const { update_id: id, message } of updates) {
    offset = id + 1;
    void call("sendMessage", { chat_id: message.chat.id, text: "ok" });
  }
}
