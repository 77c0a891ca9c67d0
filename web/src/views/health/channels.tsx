/** The channels, with proof that they live. */
import type { Overview } from "../../../../src/http/api.js";
import { exactTime, fromNow, plural } from "../../ui/format.js";
import { Badge, type Tone } from "../../ui/parts.js";

type Channel = Overview["channels"][number];

const tones: Readonly<Record<Channel["state"], Tone>> = { up: "good", starting: "accent", deaf: "bad", down: "bad" };
const words: Readonly<Record<Channel["state"], string>> = {
  up: "hears its platform",
  starting: "connecting",
  deaf: "deaf: its platform has not been heard",
  down: "not connected",
};

export function Channels({ channels }: { readonly channels: readonly Channel[] }) {
  return (
    <section class="health-part" aria-label="Channels">
      <h2>Channels</h2>
      {channels.length === 0 ? (
        <p class="next-none">
          No platform is connected. <code>nanogate init</code> connects Telegram or Discord; this page and the terminal
          work anyway.
        </p>
      ) : (
        <ul class="channels">
          {channels.map((channel) => (
            <li key={channel.name} class="card channel">
              <div class="job-head">
                <h3>{channel.name}</h3>
                <Badge tone={tones[channel.state]}>{channel.state}</Badge>
              </div>
              <p>{words[channel.state]}</p>
              <p class="channel-facts">
                {channel.lastAliveMs === undefined ? (
                  "never heard"
                ) : (
                  <span title={exactTime(channel.lastAliveMs)}>heard {fromNow(channel.lastAliveMs)}</span>
                )}
                {channel.restarts > 0 && <span>{plural(channel.restarts, "restart")}</span>}
              </p>
              {channel.reason !== undefined && channel.state !== "up" && <p class="channel-reason">{channel.reason}</p>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
