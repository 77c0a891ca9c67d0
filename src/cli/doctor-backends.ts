/** What `nanogate doctor` says of the backends that the settings use: is each there, and will it answer? */
import { backendsInUse, claudeSettings } from "../app/backends.js";
import { checkModel } from "../app/check-model.js";
import { theModel } from "../backends/choice.js";
import { checkClaude } from "../backends/claude-check.js";
import type { Settings } from "../config/load.js";
import { UserError } from "../util/errors.js";
import type { DoctorWorld, Finding } from "./doctor.js";

/** Whether a model provider is to answer anywhere. */
export const needsModel = ({ agents, backends }: Settings): boolean =>
  ["", theModel].includes(agents.defaults.backend) ||
  Object.values(backends.use).some(({ backend }) => backend === theModel);

type Check = (settings: Settings, world: DoctorWorld) => Promise<Omit<Finding, "name">>;

const checks: Readonly<Record<string, Check>> = {
  async "claude-cli"(settings, { env }) {
    const claude = claudeSettings(settings);
    const { version, isOld, login } = await checkClaude(claude, env);
    const found = `${claude.command} ${version}`;
    if (login === "out") return { state: "fail", detail: `${found} is not logged in`, fix: logIn };
    if (isOld) {
      const detail = `${found} is old: jobs and subagents need a newer one`;
      return { state: "warn", detail, fix: "Update it: npm install -g @anthropic-ai/claude-code" };
    }
    if (login === "unknown")
      return { state: "warn", detail: `${found} does not say whether it is logged in`, fix: logIn };
    return { state: "ok", detail: `${found}, logged in; it works in ${claude.folder}` };
  },
  async "openai-responses"({ backends }, { env, fetch }) {
    const { model, apiKey, apiBase } = backends["openai-responses"];
    const key = apiKey || env["OPENAI_API_KEY"];
    if (model === "" || !key) {
      const lack = model === "" ? "model" : "apiKey";
      throw new UserError(`there is no ${lack}`, `Set backends.openai-responses.${lack} in nanogate.json.`);
    }
    await checkModel({ model, provider: "openai", providers: { openai: { apiKey: key, apiBase } } }, {}, fetch);
    return { state: "ok", detail: `OpenAI can be reached, for ${model}` };
  },
};

const logIn =
  "Start the command once as this user and log in (/login), or set ANTHROPIC_API_KEY in backends.claude-cli.env.";

export async function backendChecks(
  settings: Settings,
  world: DoctorWorld,
  failure: (name: string, error: unknown) => Finding,
): Promise<Finding[]> {
  let names: string[];
  try {
    names = backendsInUse(settings);
  } catch (error) {
    return [failure("backends", error)];
  }
  return Promise.all(
    names.map(async (name) => {
      try {
        const found = await checks[name]?.(settings, world);
        return { name, ...(found ?? { state: "ok", detail: "" }) };
      } catch (error) {
        return failure(name, error);
      }
    }),
  );
}
