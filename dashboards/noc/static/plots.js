// Evidence over time: one small line chart per series, with what was normal before the incident began.
//
// Normal is never taken from the time of the fault: up to the onset it is a filled band and a dashed line, after it both
// are held, as an outline, so that what the fault made of the series stands out against it.
import { seriesName } from "./names.js";
import { quantity } from "./quantities.js";
import { ask, plot as read, time } from "./wire.js";
import { side } from "./words.js";

const PLOTS_MAX = 3;
const EVERY_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const BEFORE_MIN = 5; // values before the onset that make a band
const BEFORE = [0.05, 0.95]; // one value in ten may be a spike
let shown = null;
let wanted = ""; // an answer to what was asked for before is not drawn
let until = Infinity; // seconds: what came later is not drawn

/** at: milliseconds; null for all there is. */
export function cutPlots(at) {
  const before = until;
  until = at === null ? Infinity : at / 1e3;
  if (until !== before) draw();
}

/** explained: gives the newest explanation, which knows names and directions. path: see ``source`` in replay.js. */
export async function drawPlots(container, incident, explained, path) {
  wanted = `${path}incidents/${encodeURIComponent(incident.id)}/plots`;
  const asked = wanted;
  const answer = await ask(asked);
  if (answer === null || asked !== wanted) return;
  const plots = answer.map(read).filter((plot) => plot.times.length > 1).slice(0, PLOTS_MAX);
  shown = { container, incident, plots, explained };
  draw();
}

function draw() {
  if (shown === null) return;
  const { container, incident, plots, explained } = shown;
  const { of, explanation } = explained();
  const known = of === incident.id ? explanation : null;
  const onset = incident.onset / 1e3;
  // What it explains may have begun earlier than what speaks for its cause: that is not normal either.
  const began = Math.min(onset, ...(known?.effects ?? []).map((effect) => time(effect.onset) / 1e3));
  const drawings = plots.map((plot) => {
    return { plot, onset, began, before: range(plot, began), worse: known?.worse[evidenceOf(plot, incident)], gpus: known?.gpus ?? {} };
  });
  container.replaceChildren(...drawings.map(frame));
  [...container.children].forEach((node, at) => chart(node, drawings[at]));
}

document.documentElement.addEventListener("theme", draw);
document.getElementById("plots").addEventListener("explained", draw);
new ResizeObserver(draw).observe(document.getElementById("plots"));

/** How slow operations are and how many there are comes from one series: units tell them apart. */
function evidenceOf({ series, unit }, { evidence }) {
  const exact = evidence.findIndex((one) => one.series === series && one.unit === unit);
  return exact < 0 ? evidence.findIndex((one) => one.series === series) : exact;
}

/** Between which values a series was before it began; null where too few are known. */
function range({ times, values }, began) {
  const known = values.filter((value, at) => times[at] < began && value !== null).sort((a, b) => a - b);
  return known.length < BEFORE_MIN ? null : BEFORE.map((share) => known[Math.round(share * (known.length - 1))]);
}

const LONG = 5; // letters of a unit that are said once, in the legend, as they would take the chart's room

/** What stands at a tick, and the unit where it is too long to stand there. */
function tickText(value, plot) {
  const [number, ...unit] = quantity(value, unitOf(plot)).split(" ");
  const noun = unit.join(" ");
  return noun.length > LONG ? [number, `in ${unitOf(plot)}`] : [`${number} ${noun}`.trim(), ""];
}

/** Whole minutes are said without seconds, so that more of them fit. */
const instantText = (seconds, every) => new Date(seconds * 1e3).toISOString().slice(11, every < 60 ? 19 : 16);

const unitOf = (plot) => plot.unit.split(" ")[0];

function frame({ plot, before, worse, gpus }) {
  const node = document.createElement("div");
  node.className = "plot";
  node.setAttribute("role", "img");
  const title = document.createElement("h3");
  title.textContent = seriesName(plot.series, gpus);
  const legend = document.createElement("p");
  const [, noun] = tickText(1, plot);
  legend.textContent = [noun, side(worse), normalText(plot, before), "red: onset"].filter(Boolean).join(" · ");
  node.setAttribute("aria-label", `${title.textContent}: ${legend.textContent}`);
  node.append(title, legend, document.createElement("div"));
  return node;
}

function normalText(plot, before) {
  const learned = plot.normal === null ? "" : `dashes: normal ${quantity(plot.normal, unitOf(plot))}`;
  if (before === null) return learned || "nothing is known of before";
  const [low, high] = before.map((value) => quantity(value, unitOf(plot)));
  return [`band: before, ${low === high ? low : `${low} to ${high}`}`, learned].filter(Boolean).join(" · ");
}

function chart(node, drawing) {
  const { plot, before } = drawing;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const size = parseFloat(style.fontSize);
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") }, font: `${Math.round(size * 0.85)}px system-ui` };
  const room = node.lastElementChild;
  const marks = [...(before ?? []), ...(plot.normal === null ? [] : [plot.normal])];
  new uPlot({
    width: room.clientWidth,
    height: Math.max(5 * size, room.clientHeight),
    legend: { show: false },
    cursor: { show: false },
    padding: [null, size * 2.5, null, null],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    scales: { y: { range: (_, low, high) => padded([low, high, ...marks].filter((value) => value !== null)) } },
    axes: [
      { ...axis, incrs: EVERY_S, values: (_, times, __, ___, every) => times.map((seconds) => instantText(seconds, every)), space: size * 4.5 },
      { ...axis, size: (_, labels) => size * (1.5 + 0.5 * Math.max(0, ...(labels ?? []).map((label) => label.length))), values: (_, values) => values.map((value) => tickText(value, plot)[0]), space: size * 1.7 },
    ],
    series: [{}, { stroke: colour("value"), width: size / 8, points: { show: false } }],
    hooks: { drawAxes: [(on) => markNormal(on, drawing, colour("good"), size / 8)], draw: [(on) => markOnset(on, drawing.onset, colour("critical"), size / 8)] },
  }, [plot.times, plot.values.map((value, at) => (plot.times[at] <= until ? value : null))], room);
}

function padded(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

function markNormal(on, { plot, began, before }, colour, thick) {
  const { ctx, bbox: { left, width } } = on;
  const right = left + width;
  const split = Math.min(right, Math.max(left, on.valToPos(began, "x", true)));
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = thick;
  if (before !== null) {
    const [bottom, top] = before.map((value) => on.valToPos(value, "y", true));
    ctx.globalAlpha = 0.25;
    ctx.fillRect(left, top - 2, split - left, bottom - top + 4);
    ctx.globalAlpha = 0.8;
    ctx.setLineDash([thick, 3 * thick]);
    for (const y of [top - 2, bottom + 2]) line(ctx, split, y, right, y);
  }
  if (plot.normal !== null) {
    const y = on.valToPos(plot.normal, "y", true);
    ctx.globalAlpha = 1;
    ctx.setLineDash([6 * thick, 3 * thick]);
    line(ctx, left, y, split, y);
    ctx.globalAlpha = 0.6;
    ctx.setLineDash([2 * thick, 6 * thick]);
    line(ctx, split, y, right, y);
  }
  ctx.restore();
}

function markOnset(on, onset, colour, thick) {
  const x = on.valToPos(onset, "x", true);
  const { left, top, width, height } = on.bbox;
  if (x < left || x > left + width) return;
  on.ctx.save();
  on.ctx.strokeStyle = colour;
  on.ctx.lineWidth = thick;
  line(on.ctx, x, top, x, top + height);
  on.ctx.restore();
}

function line(ctx, fromX, fromY, toX, toY) {
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}
