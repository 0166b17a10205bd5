// The picture of the fabric: one row a tier, one box a group of devices, one line a bundle of links.
import { drawn } from "./dom.js";
import { SHAPES } from "./words.js";

const ROWS = [["spine"], ["leaf"], ["host", "storage"]];
const NOUNS = { spine: ["spine", "spines"], leaf: ["leaf", "leaves"], host: ["host", "hosts"], storage: ["server", "servers"] };
const THICKEST = 0.6; // of the page's letters
const LARGEST = 1.6; // times the page's own size of letters
const ROOMY = 22; // letters high from which on they grow
const TIGHT = 12.5; // letters high up to which they shrink
const LETTER = 0.56; // how wide a letter is, of its size
const LEADING = 1.3; // from line to line, of the size of letters
const MARGIN = 0.4; // above and below the lines of a box together
const READABLE = 0.72; // of the page's letters: smaller ones are not written

/** enter: called with the scope {pod, rack} of a box that leads into one. */
export function drawMap(parent, { pod, rack, boxes, bundles, lines }, enter) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  const unit = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = Math.max(20 * unit, parent.clientWidth);
  const height = Math.max(10 * unit, parent.clientHeight);
  // A large map is read from further away; in a small one two lines of text must fit into a box.
  const size = unit * Math.min(LARGEST, Math.max(height / (ROOMY * unit), Math.min(1, height / (TIGHT * unit))));
  const places = placed(boxes, width, height, size, unit);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": said(boxes, bundles) });
  const most = Math.max(1, ...bundles.map((bundle) => bundle.links));
  for (const bundle of bundles) svg.append(bundleLine(bundle, places, most, unit));
  for (const line of [...lines].reverse()) svg.append(faultLine(line, places, size));
  if (bundles.every((bundle) => hasRoom(bundle, places, size))) bundles.forEach((bundle) => svg.append(bundleLabel(bundle, places, size)));
  for (const box of boxes) svg.append(drawnBox(box, places.get(box.id), size, { pod, rack }, enter));
  parent.replaceChildren(svg);
  if (focused !== null) [...parent.querySelectorAll("[data-id]")].find((node) => node.dataset.id === focused)?.focus();
}

/** Where each box is, and what is written in it: the boxes of a row are alike, so that a person can compare them. */
function placed(boxes, width, height, size, unit) {
  const rows = ROWS.map((tiers) => boxes.filter((box) => tiers.includes(box.tier))).filter((row) => row.length);
  const places = new Map();
  rows.forEach((row, at) => {
    const step = width / row.length;
    const y = ((at + 0.5) * height) / rows.length;
    const wide = Math.min(step * 0.88, 14 * size);
    const { lines, letters } = written(row, wide, Math.min(4.8 * size, height / rows.length / 1.4), size, unit);
    const high = letters * (LEADING * lines[0].length + MARGIN);
    row.forEach((box, place) => places.set(box.id, { x: (place + 0.5) * step, y, step, width: wide, height: high, lines: lines[place], letters }));
  });
  return places;
}

/** The most that can be read in boxes of this size: lines of each box of a row, and the size of their letters. */
function written(row, width, height, size, unit) {
  const said = row.map(words);
  for (const form of FORMS) {
    const lines = said.map(form);
    const longest = Math.max(...lines.flat().map(measured));
    const letters = Math.min(size, (0.92 * width) / longest, height / (LEADING * lines[0].length + MARGIN));
    if (letters >= READABLE * unit || form === FORMS.at(-1)) return { lines, letters };
  }
}

/** name and what it is, as one text where they are the same; note: how it is, short: the same in fewer letters. */
function words(box) {
  const isOne = box.devices === 1 && !box.pod && !box.rack;
  const what = isOne ? box.tier : `${box.devices} ${NOUNS[box.tier][box.devices === 1 ? 0 : 1]}`;
  const mark = box.unhealthy ? (SHAPES[box.severity] ?? "○") : "✓";
  const note = box.unhealthy ? `${mark} ${box.is_root ? "cause here, " : ""}${box.unhealthy} unhealthy` : `${mark} healthy`;
  const short = box.unhealthy ? `${mark} ${box.is_root ? "cause" : `${box.unhealthy} unhealthy`}` : note;
  return { name: box.name, what, full: what.endsWith(box.name) ? what : `${box.name} · ${what}`, note, short, mark };
}

// From the most to the least that a box may say. What it does not say is where somebody points at it.
const FORMS = [
  ({ full, note }) => [full, note],
  ({ full, short }) => [full, short],
  ({ name, what, full, short }) => [...(full === what ? ["", what] : [name, what]), short],
  ({ name, short }) => [name, short],
  ({ name, mark }) => [name, mark],
  ({ mark }) => [mark],
];

const pen = document.createElement("canvas").getContext("2d");

/** How wide a text is, of the size of its letters. */
function measured(text) {
  pen.font = `100px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width / 100;
}

function said(boxes, bundles) {
  const bad = bundles.reduce((sum, bundle) => sum + bundle.unhealthy, 0);
  const links = bundles.reduce((sum, bundle) => sum + bundle.links, 0);
  return `${boxes.length} groups of devices, ${links} links in ${bundles.length} bundles, ${bad} links unhealthy`;
}

function bundleLine(bundle, places, most, unit) {
  const a = places.get(bundle.a);
  const b = places.get(bundle.b);
  const line = drawn("path", { class: "bundle", d: curve(a, b), "stroke-width": unit * (0.1 + ((THICKEST - 0.1) * bundle.links) / most) });
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

function drawnBox(box, { x, y, width, height, lines, letters }, size, scope, enter) {
  const { full, note } = words(box);
  const inner = box.rack || box.pod;
  const leads = inner && (box.pod !== scope.pod || box.rack !== scope.rack) && box.devices > 1;
  const group = drawn("g", { class: `box ${box.severity ?? (box.unhealthy ? "info" : "")} ${box.is_root ? "cause" : ""}`, "data-id": box.id });
  group.append(drawn("title", {}, `${full}: ${note}`));
  group.append(drawn("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 0.4 * size }));
  lines.forEach((line, at) => {
    const below = (at - (lines.length - 1) / 2) * LEADING * letters;
    group.append(drawn("text", { class: at === lines.length - 1 ? "note" : "", x, y: y + below, "font-size": letters }, line));
  });
  if (leads) lead(group, box, `${full}, ${note}: show`, enter);
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
