// What the sources themselves show of an incident's scope, from five minutes before it: pauses, XIDs, links, reboots.
import { byId, setLines, setText } from "./dom.js";
import { withNames } from "./names.js";
import { quantity } from "./quantities.js";
import { ask, time } from "./wire.js";
import { clock, count } from "./words.js";

const ASKED_EVERY_MS = 10_000; // they go on while nothing of the incident changes
const LISTED_MAX = 100;
// are over when they are seen: how long says nothing
const MOMENTS = ["xid", "sxid", "reboot", "link_bounced", "nccl_process", "bmc_log"];

let of = "";
let events = [];
let asked_ms = -Infinity;

/** Called as often as one likes. changed: called when there are others. A replay has none: path, at as in replay.js. */
export function askForEvents(incident, { path, at }, changed) {
  const wanted = at === null ? `${path}incidents/${encodeURIComponent(incident.id)}/events?limit=${LISTED_MAX}` : "";
  if (wanted !== of) {
    const had = events.length > 0;
    [of, events, asked_ms] = [wanted, [], -Infinity];
    if (had) changed(); // those were of another incident
  }
  if (wanted === "" || performance.now() - asked_ms < ASKED_EVERY_MS) return;
  asked_ms = performance.now();
  answer(wanted, changed);
}

async function answer(wanted, changed) {
  const found = await ask(wanted);
  if (wanted !== of || found === null) return;
  events = found;
  changed();
}

/** lines: that there is room for. */
export function drawEvents(gpus, lines) {
  const shown = events.slice(0, events.length > lines ? lines - 1 : lines);
  const more = events.length - shown.length;
  byId("events-title").hidden = events.length === 0;
  setText(byId("events-title"), `${count(events.length, "event")}${events.length < LISTED_MAX ? "" : " or more"}, latest first`);
  setLines(byId("events"), [...shown.map((one) => line(one, gpus)), ...(more > 0 ? [`${more} more`] : [])]);
}

function line(event, gpus) {
  const what = event.detail || event.kind.replaceAll("_", " ");
  const which = [event.priority && `priority ${event.priority}`, event.queue && `queue ${event.queue}`, event.direction];
  const times = event.count > 1 ? `×${event.count}` : "";
  const words = [clock(time(event.began_by)), withNames(event.where, gpus), what, ...which, times].filter(Boolean).join(" ");
  return [words, lasted(event)].filter(Boolean).join(" · ");
}

function lasted({ kind, state, at_least_s, at_most_s }) {
  if (MOMENTS.includes(kind)) return "";
  if (state === "open") return "goes on";
  const [least, most] = [quantity(at_least_s, "seconds"), quantity(at_most_s, "seconds")];
  return least === most ? `for ${most}` : `for ${least} to ${most}`;
}
