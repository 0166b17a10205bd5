// The fabric: tiers and bundles with what is unhealthy on top, and the worst of it as a list. Boxes lead into their pod
// or rack.
import { byId, setLines, setText } from "./dom.js";
import { drawMap } from "./fabric_map.js";
import { ask } from "./wire.js";
import { clock, count, SHAPES } from "./words.js";

let path = []; // the scopes from the whole fabric to the one that is shown
let drawn = ""; // what is on the page, as JSON
let latest = null;
let asked = 0; // how often: an answer that another one has overtaken is not drawn
let from = { path: "", at: null };

/** Asks for the shown part of the fabric and draws it. source: where, and as of when; see replay.js. */
export async function refreshFabric(source = from) {
  from = source;
  asked += 1;
  const number = asked;
  const scope = path.at(-1) ?? { pod: "", rack: "" };
  const at = source.at === null ? {} : { at: new Date(source.at).toISOString() };
  const seen = await ask(`${source.path}fabric?${new URLSearchParams({ ...scope, ...at })}`);
  if (seen === null || number !== asked) return;
  latest = { ...seen, at: source.at };
  draw();
}

function draw() {
  const seen = latest;
  const map = byId("fabric-map");
  const key = JSON.stringify([seen, map.clientWidth, map.clientHeight]);
  if (seen === null || key === drawn) return;
  drawn = key;
  const then = seen.at === null ? "" : `as of ${clock(seen.at)}`;
  const where = [then, seen.pod && `pod ${seen.pod}`, seen.rack && `rack ${seen.rack}`].filter(Boolean).join(", ");
  setText(byId("fabric-title"), where ? `Fabric: ${where}` : "Fabric");
  byId("fabric-back").hidden = path.length === 0;
  setText(byId("fabric-back"), path.length > 1 ? `↑ pod ${path.at(-2).pod}` : "↑ whole fabric");
  byId("unhealthy-title").hidden = false;
  setText(byId("unhealthy-title"), seen.unhealthy_objects ? `${count(seen.unhealthy_objects, "object")} unhealthy` : "✓ Nothing unhealthy here");
  list(seen);
  drawMap(map, seen, enter);
}

/** The worst one, further ones as there is room for them, and how many there are beside. */
function list({ unhealthy, unhealthy_objects }) {
  const parent = byId("unhealthy");
  for (let shown = unhealthy.length; shown >= Math.min(1, unhealthy.length); shown -= 1) {
    const more = unhealthy_objects - shown;
    setLines(parent, [...unhealthy.slice(0, shown).map(line), ...(more ? [[["span", `${more} more`, "small"]]] : [])]);
    if (parent.scrollHeight <= parent.clientHeight + 1) return;
  }
}

function line({ kind, label, text, onset, is_root, severity }) {
  const role = is_root ? "cause" : severity ? "follows" : "no incident";
  return [
    ["span", `${SHAPES[severity] ?? "○"} ${role}`, `badge ${severity ?? ""}`],
    ["span", `${clock(Date.parse(onset))} `, "small"],
    ["span", `${kind === "link" ? "link " : ""}${label} `],
    ["span", text, "small"],
  ];
}

function enter(scope) {
  path.push(scope);
  refreshFabric().then(() => byId("fabric-back").focus());
}

byId("fabric-back").addEventListener("click", () => {
  path.pop();
  refreshFabric().then(() => byId("fabric-back").hidden && byId("fabric-map").querySelector("[tabindex]")?.focus());
});
new ResizeObserver(draw).observe(byId("fabric-map"));
