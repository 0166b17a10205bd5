// The fabric: tiers and bundles with what is unhealthy on top, and the worst of it as a list. Boxes lead into their pod
// or rack.
import { byId, setLines, setText } from "./dom.js";
import { drawMap } from "./fabric_map.js";
import { objectName } from "./names.js";
import { ask } from "./wire.js";
import { clock, count, SHAPES } from "./words.js";

let path = []; // the scopes from the whole fabric to the one that is shown
let drawn = ""; // what is on the page, as JSON
let latest = null;

/** Asks for the shown part of the fabric and draws it. */
export async function refreshFabric() {
  const scope = path.at(-1) ?? { pod: "", rack: "" };
  const seen = await ask(`fabric?${new URLSearchParams(scope)}`);
  if (seen === null || scope !== (path.at(-1) ?? scope)) return;
  latest = seen;
  draw();
}

function draw() {
  const seen = latest;
  const map = byId("fabric-map");
  const key = JSON.stringify([seen, map.clientWidth, map.clientHeight]);
  if (seen === null || key === drawn) return;
  drawn = key;
  const where = [seen.pod && `pod ${seen.pod}`, seen.rack && `rack ${seen.rack}`].filter(Boolean).join(", ");
  setText(byId("fabric-title"), where ? `Fabric: ${where}` : "Fabric");
  byId("fabric-back").hidden = path.length === 0;
  setText(byId("fabric-back"), path.length > 1 ? `↑ pod ${path.at(-2).pod}` : "↑ whole fabric");
  byId("unhealthy-title").hidden = false;
  const more = seen.unhealthy_objects > seen.unhealthy.length ? `, the worst ${seen.unhealthy.length}` : "";
  setText(byId("unhealthy-title"), seen.unhealthy_objects ? `${count(seen.unhealthy_objects, "object")} unhealthy${more}` : "✓ Nothing unhealthy here");
  setLines(byId("unhealthy"), seen.unhealthy.map(line));
  drawMap(map, seen, enter);
}

function line({ kind, name, gpu_index, text, onset, is_root, severity }) {
  const label = objectName(name, gpu_index === null ? {} : { [name]: gpu_index });
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
