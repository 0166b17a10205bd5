// The incident that the address names, as links in pages do: `#incident=ID`. A person who chooses another one leaves it.
import { byId, setText } from "./dom.js";
import { incident as read } from "./wire.js";

const ASKED_EVERY_MS = 10_000; // of an incident that is not sent to the page, as there are many or it is over

let id = named();
let known = null; // what the API said last of one that is not sent
let asked_ms = -Infinity;
let scrolled = false;

addEventListener("hashchange", () => {
  id = named();
  known = null;
  asked_ms = -Infinity;
  scrolled = false;
});

function named() {
  return new URLSearchParams(location.hash.slice(1)).get("incident");
}

export function leaveLink() {
  id = null;
  history.replaceState(null, "", location.pathname + location.search);
}

/** Whether the address names an incident, and which: null while that is not known. changed: called when it is. */
export function linked(incidents, changed) {
  const incident = incidents.find((each) => each.id === id) ?? known;
  if (id && !incidents.some((each) => each.id === id)) ask(changed);
  if (incident || !id) setGone(false);
  if (incident && id && !scrolled) {
    scrolled = true;
    queueMicrotask(() => byId("detail").scrollIntoView({ block: "nearest" }));
  }
  return { names: Boolean(id), incident: id ? incident : null };
}

async function ask(changed) {
  if (performance.now() - asked_ms < ASKED_EVERY_MS) return;
  asked_ms = performance.now();
  const of = id;
  const answer = await fetch(`/api/v1/incidents/${encodeURIComponent(of)}`).catch(() => null);
  const found = answer?.ok ? read(await answer.json()) : null;
  if (of !== id) return;
  if (found) known = found;
  else if (answer?.status === 404) known = null;
  setGone(answer?.status === 404);
  changed();
}

function setGone(gone) {
  byId("gone").hidden = !gone;
  if (gone) setText(byId("gone"), `Incident ${id} is not known here: it is over and forgotten, or of another cluster.`);
}
