// The picture of the fabric: one row a tier, one box a group of devices, one line a bundle of links.
import { drawn } from "./dom.js";
import { SHAPES } from "./words.js";

const ROWS = [["spine"], ["leaf"], ["host", "storage"]];
const NOUNS = { spine: ["spine", "spines"], leaf: ["leaf", "leaves"], host: ["host", "hosts"], storage: ["server", "servers"] };
const THICKEST = 10;
const LARGEST = 1.6; // times the page's own size of letters
const ROOMY = 22; // letters high from which on they grow
const TIGHT = 12.5; // letters high up to which they shrink
const LETTER = 0.56; // how wide a letter is, of its size

/** enter: called with the scope {pod, rack} of a box that leads into one. */
export function drawMap(parent, { pod, rack, boxes, bundles, lines }, enter) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  const unit = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = Math.max(20 * unit, parent.clientWidth);
  const height = Math.max(10 * unit, parent.clientHeight);
  // A large map is read from further away; in a small one two lines of text must fit into a box.
  const size = unit * Math.min(LARGEST, Math.max(height / (ROOMY * unit), Math.min(1, height / (TIGHT * unit))));
  const places = placed(boxes, width, height, size);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": said(boxes, bundles) });
  const most = Math.max(1, ...bundles.map((bundle) => bundle.links));
  for (const bundle of bundles) svg.append(bundleLine(bundle, places, most));
  for (const line of [...lines].reverse()) svg.append(faultLine(line, places, size));
  if (bundles.every((bundle) => hasRoom(bundle, places, size))) bundles.forEach((bundle) => svg.append(bundleLabel(bundle, places, size)));
  for (const box of boxes) svg.append(drawnBox(box, places.get(box.id), size, { pod, rack }, enter));
  parent.replaceChildren(svg);
  if (focused !== null) [...parent.querySelectorAll("[data-id]")].find((node) => node.dataset.id === focused)?.focus();
}

function placed(boxes, width, height, size) {
  const rows = ROWS.map((tiers) => boxes.filter((box) => tiers.includes(box.tier))).filter((row) => row.length);
  const places = new Map();
  rows.forEach((row, at) => {
    const step = width / row.length;
    const y = ((at + 0.5) * height) / rows.length;
    row.forEach((box, place) => places.set(box.id, {
      x: (place + 0.5) * step, y, step, width: Math.min(step * 0.86, 13 * size), height: Math.min(3.4 * size, height / rows.length / 1.7),
    }));
  });
  return places;
}

function said(boxes, bundles) {
  const bad = bundles.reduce((sum, bundle) => sum + bundle.unhealthy, 0);
  const links = bundles.reduce((sum, bundle) => sum + bundle.links, 0);
  return `${boxes.length} groups of devices, ${links} links in ${bundles.length} bundles, ${bad} links unhealthy`;
}

function bundleLine(bundle, places, most) {
  const a = places.get(bundle.a);
  const b = places.get(bundle.b);
  const line = drawn("path", { class: "bundle", d: curve(a, b), "stroke-width": 1 + ((THICKEST - 1) * bundle.links) / most });
  line.append(drawn("title", {}, `${figures(bundle)}, ${bundle.unhealthy} unhealthy`));
  return line;
}

function figures(bundle) {
  const used = bundle.measured ? `, ${Math.round((100 * bundle.used_bits_per_second) / bundle.rated_bits_per_second)} % used` : "";
  return `${bundle.links} link${bundle.links === 1 ? "" : "s"}${used}`;
}

/** Whether its figures fit between a box and the next one: else they show only where somebody points at the line. */
function hasRoom(bundle, places, size) {
  return (1.2 + 0.8 * LETTER * figures(bundle).length) * size < places.get(bundle.b).step / 2;
}

function bundleLabel(bundle, places, size) {
  const { x, y, height } = places.get(bundle.b);
  const at = { x: x + 0.6 * size, y: y - height / 2 - 0.6 * size };
  return drawn("text", { class: "figures", ...at, "font-size": 0.8 * size }, figures(bundle));
}

function faultLine({ a: from, b: to, severity, is_root }, places, size) {
  const [a, b] = [places.get(from), places.get(to)];
  const group = drawn("g");
  group.append(drawn("path", { class: `fault ${severity ?? ""} ${is_root ? "cause" : "follows"}`, d: curve(a, b) }));
  if (!is_root) return group;
  const mark = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, "font-size": 1.6 * size, "text-anchor": "middle", fill: `var(--${severity ?? "info"})` };
  group.append(drawn("text", mark, SHAPES[severity] ?? "○"));
  return group;
}

/** Bundles leave a box below and enter one above; two boxes of one row are joined by an arc. */
function curve(a, b) {
  const [top, bottom] = a.y <= b.y ? [a, b] : [b, a];
  const from = top.y + top.height / 2;
  const to = bottom.y - bottom.height / 2;
  if (top.y === bottom.y) return `M ${top.x} ${from} Q ${(top.x + bottom.x) / 2} ${from + top.height} ${bottom.x} ${from}`;
  const middle = (from + to) / 2;
  return `M ${top.x} ${from} C ${top.x} ${middle} ${bottom.x} ${middle} ${bottom.x} ${to}`;
}

function drawnBox(box, { x, y, width, height }, size, scope, enter) {
  const bad = box.unhealthy ? `${SHAPES[box.severity] ?? "○"} ${box.is_root ? "cause here, " : ""}${box.unhealthy} unhealthy` : "✓ healthy";
  const isOne = box.devices === 1 && !box.pod && !box.rack;
  const what = isOne ? box.tier : `${box.devices} ${NOUNS[box.tier][box.devices === 1 ? 0 : 1]}`;
  const name = what.endsWith(box.name) ? what : `${box.name} · ${what}`;
  const inner = box.rack || box.pod;
  const leads = inner && (box.pod !== scope.pod || box.rack !== scope.rack) && box.devices > 1;
  const group = drawn("g", { class: `box ${box.severity ?? (box.unhealthy ? "info" : "")} ${box.is_root ? "cause" : ""}`, "data-id": box.id });
  group.append(drawn("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 0.4 * size }));
  group.append(drawn("text", { x, y: y - 0.62 * size, "font-size": fitted(name, width, size) }, name));
  group.append(drawn("text", { class: "note", x, y: y + 0.68 * size, "font-size": fitted(bad, width, 0.95 * size) }, bad));
  if (leads) lead(group, box, `${name}, ${bad}: show`, enter);
  return group;
}

function lead(group, box, label, enter) {
  const scope = { pod: box.pod, rack: box.rack };
  group.classList.add("leads");
  group.setAttribute("tabindex", "0");
  group.setAttribute("role", "button");
  group.setAttribute("aria-label", label);
  group.addEventListener("click", () => enter(scope));
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    enter(scope);
  });
}

/** A size at which a text fits its box. */
const fitted = (text, width, size) => Math.min(size, (0.94 * width) / (LETTER * text.length));
