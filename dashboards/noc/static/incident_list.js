// The incidents, worst first, then those that are over. Items stay where they are while their order does.
import { byId, element, setText } from "./dom.js";
import { count, headline, lost, SHAPES, when } from "./words.js";

const LISTED_MAX = 10;
const OVER_MAX = 3; // of those that are over
const IMPACT = " — "; // between what a title says broke and whom it reaches
let everything = false; // a person asked for more than fit

export function listed(incidents) {
  if (everything) return incidents;
  const open = incidents.filter(({ state }) => state !== "resolved");
  const over = incidents.filter(({ state }) => state === "resolved");
  return [...open, ...over.slice(0, OVER_MAX)].slice(0, LISTED_MAX);
}

/** shown: the incident beside the list. open: how many there are, sent or not. choose: called with an id. */
export function drawList(incidents, shown, open, choose) {
  const items = listed(incidents).map((incident) => item(incident, incident === shown, choose));
  const parent = byId("incidents");
  if (items.some((each, at) => parent.children[at] !== each) || parent.children.length > items.length) {
    const focused = document.activeElement;
    parent.replaceChildren(...items);
    if (parent.contains(focused)) focused.focus();
  }
  const openListed = listed(incidents).filter((incident) => incident.state !== "resolved").length;
  const more = Math.max(open - openListed, incidents.length - items.length);
  byId("more").hidden = more <= 0;
  setText(byId("more"), open > openListed ? `${count(open - openListed, "more open incident")}: show` : `${more} more: show`);
}

byId("more").addEventListener("click", () => {
  everything = true;
  byId("incidents").dispatchEvent(new Event("more"));
});

function item(incident, current, choose) {
  const known = [...byId("incidents").children].find((each) => each.dataset.id === incident.id);
  const node = known ?? created(incident, choose);
  const [button] = node.children;
  const [badge, what, impact, small] = button.children;
  const [said, ...reached] = headline(incident).split(IMPACT);
  const over = incident.state === "resolved";
  button.className = over ? "resolved" : incident.severity;
  button.setAttribute("aria-current", String(current));
  setText(badge, over ? "✓ RESOLVED" : `${SHAPES[incident.severity]} ${incident.severity.toUpperCase()}`);
  setText(what, said);
  setText(impact, reached.length ? `${IMPACT}${reached.join(IMPACT)}` : "");
  button.title = headline(incident); // of which many have one line each
  setText(small, `${when(incident)} · ${lost(incident.gpu_seconds)}`);
  return node;
}

function created(incident, choose) {
  const node = element("li");
  node.dataset.id = incident.id;
  const button = element("button");
  button.append(element("span", "", "badge"), element("span"), element("span", "", "impact"), element("span", "", "small"));
  button.addEventListener("click", () => choose(incident.id));
  node.append(button);
  return node;
}
