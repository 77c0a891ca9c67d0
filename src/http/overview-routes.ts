/** How the gateway is: asked once, or told every two seconds to whoever looks. */
import type { Overview } from "./api.js";
import type { DoorApp, EventStream, OpenStream } from "./event-stream.js";

export type OverviewParts = { readonly overview: () => Promise<Overview>; readonly openStream: OpenStream };

const pulseMs = 2000;

export function addOverviewRoutes(app: DoorApp, { overview, openStream }: OverviewParts): void {
  /** All of them are told the same: it is looked up once, and only while somebody looks. */
  const viewers = new Set<EventStream>();
  let timer: NodeJS.Timeout | undefined;
  const tell = async (to: ReadonlySet<EventStream>): Promise<void> => {
    // A ledger that cannot be read at the moment is read at the next beat.
    const text = JSON.stringify(await overview().catch(() => undefined));
    if (text !== undefined) for (const { send } of to) send(text);
  };

  app.get("/api/overview", async (context) => context.json(await overview()));

  app.get("/api/pulse", (context) =>
    openStream(context, (stream) => {
      if (viewers.size === 0) timer = setInterval(() => void tell(viewers), pulseMs).unref();
      viewers.add(stream);
      void tell(new Set([stream]));
      return () => {
        viewers.delete(stream);
        if (viewers.size === 0) clearInterval(timer);
      };
    }),
  );
}
