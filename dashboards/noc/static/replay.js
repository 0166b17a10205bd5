// Recordings that ran again: choose one and move in its time. It shows how each incident and the fabric stood then, with
// what was known at the end of the replay, and the evidence until then.
import { byId, setText } from "./dom.js";
import { ask, incident as read, time } from "./wire.js";
import { clock } from "./words.js";

const STEPS = 1000;
let offered = "";
let shown = null; // {id, incidents, from, to} of the chosen one

/** replays: those that are done, newest first. */
export function offerReplays(replays) {
  const key = JSON.stringify(replays);
  if (key === offered) return;
  offered = key;
  const select = byId("replay-of");
  const chosen = select.value;
  select.replaceChildren(new Option("live", ""), ...replays.map((one) => new Option(`replay of ${one.recording}, run at ${clock(time(one.ended))}`, one.id)));
  select.value = replays.some((one) => one.id === chosen) ? chosen : "";
  byId("replay").hidden = replays.length === 0 && shown === null;
}

/** Where the page asks for what it shows, below `/api/v1/`, and as of when; at: null while it is live. */
export function source() {
  return shown === null ? { path: "", at: null } : { path: `replays/${encodeURIComponent(shown.id)}/`, at: chosenAt() };
}

const chosenAt = () => shown.from + (byId("replay-at").value / STEPS) * (shown.to - shown.from);

/** The content of the page at the chosen time of the chosen replay; null while it is live. */
export function replayed() {
  if (shown === null) return null;
  const at = chosenAt();
  const incidents = shown.incidents.filter((incident) => incident.opened <= at).map((incident) => ({ ...incident, state: stateAt(incident, at) }));
  const open = (state) => incidents.filter((incident) => incident.state === state).length;
  return { incidents, firing: open("firing"), pending: open("pending") };
}

function stateAt({ fired, resolved }, at) {
  if (resolved && resolved <= at) return "resolved";
  return fired && fired <= at ? "firing" : "pending";
}

async function choose(id) {
  shown = id ? await load(id) : null;
  for (const part of [byId("replay-at"), byId("replay-at").labels[0]]) part.hidden = shown === null;
  byId("replay-at").value = STEPS;
  showTime();
  byId("replay").dispatchEvent(new Event("input"));
}

async function load(id) {
  const found = await ask(`replays/${encodeURIComponent(id)}/incidents`);
  if (found === null) return null;
  const incidents = found.map(read);
  const times = incidents.flatMap(({ onset, opened, updated }) => [onset, opened, updated]);
  return { id, incidents, from: Math.min(...times) - 1e3, to: Math.max(...times) };
}

function showTime() {
  const at = shown && chosenAt();
  const text = shown === null ? "" : shown.incidents.length ? `${new Date(at).toISOString().slice(0, 10)} ${clock(at)} UTC` : "no incident in it";
  setText(byId("replay-time"), text);
  byId("replay-at").setAttribute("aria-valuetext", text);
}

byId("replay-of").addEventListener("change", (event) => choose(event.target.value));
byId("replay-at").addEventListener("input", showTime);
