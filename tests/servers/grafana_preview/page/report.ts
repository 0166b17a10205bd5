import { type DataLink, FieldType, type InterpolateFunction } from '@grafana/data';
import { selectors } from '@grafana/e2e-selectors';
import type { Prepared } from './board';
import type { BoardDocument } from './document';

interface Link {
  title: string;
  address: string;
}

/**
 * A text that does not fit where it stands. part: its panel's `title`, a name in its `legend`, or its `body`. side:
 * `width` or `height`.
 */
interface Cut {
  part: string;
  side: string;
  text: string;
}

interface PanelReport {
  id: number;
  title: string;
  type: string;
  box: { left: number; top: number; right: number; bottom: number };
  error: string | null;
  text: string;
  series: Record<string, number>;
  legendShare: number;
  cut: Cut[];
  states: string[];
  colours: string[];
  links: Link[];
}

/** What a test asks of a board that was drawn; `Drawing` in `tests/servers/grafana_preview.py` says what it means. */
export interface Report {
  height: number;
  links: Link[];
  panels: PanelReport[];
}

const LEGEND = `[data-testid="${selectors.components.VizLayout.legend}"]`;
const NAME = `${LEGEND}, [data-row-name]`;
const TITLE = `[data-testid="${selectors.components.Panels.Panel.headerContainer}"]`;
const READABLE = 0.7; // of a text's height

export function reportOf(document: BoardDocument, prepared: Prepared[], replaceVariables: InterpolateFunction): Report {
  return {
    height: window.document.getElementById('board')!.scrollHeight,
    links: linksOf(document.board.links, replaceVariables),
    panels: prepared.map((one) => panelReport(one, replaceVariables)),
  };
}

function panelReport({ panel, frames }: Prepared, replaceVariables: InterpolateFunction): PanelReport {
  const root = window.document.querySelector<HTMLElement>(`[data-panel="${panel.id}"]`)!;
  const { left, top, right, bottom } = root.getBoundingClientRect();
  const legend = root.querySelector(LEGEND)?.getBoundingClientRect();
  const drawn = [...root.querySelectorAll<HTMLElement>('[data-state]')];
  return {
    id: panel.id,
    title: panel.title,
    type: panel.type,
    box: { left, top, right, bottom },
    error: root.querySelector('[data-error]')?.textContent ?? null,
    text: root.innerText,
    series: seriesOf(frames),
    legendShare: legend ? (legend.width * legend.height) / ((right - left) * (bottom - top)) : 0,
    cut: cutTexts(root),
    states: [...new Set(drawn.map((one) => one.dataset.state ?? ''))],
    colours: [...new Set(drawn.map((one) => one.dataset.colour ?? ''))],
    links: [...linksOf(panel.links, replaceVariables), ...dataLinks(frames)],
  };
}

/** How many lines, tiles or rows each query gave. */
function seriesOf(frames: Prepared['frames']): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const frame of frames) {
    const values = frame.fields.filter(
      (field) => field.type === FieldType.number && !field.config.custom?.hideFrom?.viz
    );
    const isTable = frame.fields.some((field) => field.type === FieldType.string);
    counts[frame.refId ?? ''] = (counts[frame.refId ?? ''] ?? 0) + (isTable ? frame.length : values.length);
  }
  return counts;
}

/** Of a board or a panel; a list of boards by tag has no address of its own. */
function linksOf(links: DataLink[] = [], replaceVariables: InterpolateFunction): Link[] {
  return links
    .filter((one) => one.url)
    .map((one) => ({ title: replaceVariables(one.title), address: replaceVariables(one.url, {}, 'uriencode') }));
}

/** Where the data links of each value lead; values that lead to the same place count once. */
function dataLinks(frames: Prepared['frames']): Link[] {
  const found = new Map<string, Link>();
  for (const frame of frames) {
    for (const field of frame.fields.filter((one) => one.type !== FieldType.time)) {
      for (let valueRowIndex = 0; valueRowIndex < frame.length; valueRowIndex++) {
        for (const { href, title } of field.getLinks?.({ valueRowIndex }) ?? []) {
          found.set(href, { title, address: href });
        }
      }
    }
  }
  return [...found.values()];
}

function cutTexts(root: HTMLElement): Cut[] {
  const walker = window.document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found: Cut[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement!;
    const text = node.textContent?.trim() ?? '';
    const side = text && element.checkVisibility() ? cutSide(node, root) : undefined;
    if (side) {
      const part = element.closest(NAME) ? 'legend' : element.closest(TITLE) ? 'title' : 'body';
      found.push({ part, side, text });
    }
  }
  return found;
}

/** Where some box around a text hides a part of its width, or too much of its height. */
function cutSide(text: Node, root: HTMLElement): string | undefined {
  const range = window.document.createRange();
  range.selectNodeContents(text);
  const { left, right, top, bottom } = range.getBoundingClientRect();
  for (let box = text.parentElement; box && box !== root.parentElement; box = box.parentElement) {
    if (box === root || getComputedStyle(box).overflowX !== 'visible') {
      const clip = box.getBoundingClientRect();
      if (left < clip.left - 1 || right > clip.right + 1) {
        return 'width';
      }
      if (Math.min(bottom, clip.bottom) - Math.max(top, clip.top) < READABLE * (bottom - top)) {
        return 'height';
      }
    }
  }
  return undefined;
}
