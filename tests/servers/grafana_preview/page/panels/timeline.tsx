import {
  dateTimeFormat,
  type Field,
  type GrafanaTheme2,
  FieldColorModeId,
  FieldType,
  formattedValueToString,
  getFieldDisplayName,
  getValueFormat,
} from '@grafana/data';
import { measureText, VizLegend, type VizLegendItem, VizLayout } from '@grafana/ui';
import type { VizLegendOptions } from '@grafana/schema';
import { TIME_ZONE } from '../fields';
import { legendOptions } from './legend';
import type { PanelProps } from './props';

/** One state of a row, from one moment to another. */
interface Stretch {
  fromMs: number;
  toMs: number;
  text: string;
  colour: string;
}

const FONT_PX = 12;
const AXIS_PX = 24;
const TICKS = 6;

/**
 * States over time, stretches of the same state as one. Texts and colours are Grafana's, the boxes are ours: its own are
 * in none of its packages.
 */
export function StateTimeline(props: PanelProps) {
  return <Timeline {...props} merge={props.panel.options.mergeValues !== false} gapPx={0} />;
}

/** One box a sample. */
export function StatusHistory(props: PanelProps) {
  return <Timeline {...props} merge={false} gapPx={1} />;
}

function Timeline({
  panel,
  frames,
  range,
  width,
  height,
  theme,
  merge,
  gapPx,
}: PanelProps & { merge: boolean; gapPx: number }) {
  const rows = frames.flatMap((frame) => {
    const time = frame.fields.find((field) => field.type === FieldType.time);
    return frame.fields
      .filter((field) => field.type !== FieldType.time && time)
      .map((field) => ({
        name: getFieldDisplayName(field, frame, frames),
        field,
        stretches: stretchesOf(time!, field, merge),
      }));
  });
  const [fromMs, toMs] = [range.from.valueOf(), range.to.valueOf()];
  const namesPx = 8 + Math.max(...rows.map((row) => measureText(row.name, FONT_PX).width));
  const fields = rows.map((row) => row.field);

  return (
    <VizLayout width={width} height={height} legend={legendOf(legendOptions(panel), fields, theme)}>
      {(plotWidth, plotHeight) => {
        const rowPx = (plotHeight - AXIS_PX) / rows.length;
        const boxPx = rowPx * (panel.options.rowHeight ?? 0.9);
        const left = (ms: number) => namesPx + ((ms - fromMs) / (toMs - fromMs)) * (plotWidth - namesPx);
        return (
          <div style={{ position: 'relative', width: plotWidth, height: plotHeight, fontSize: FONT_PX }}>
            {rows.map(({ name, stretches }, row) => (
              <div key={row}>
                <div data-row-name style={at(0, row * rowPx, namesPx - 8, rowPx, rowPx)} title={name}>
                  {name}
                </div>
                {stretches.map((one, index) => {
                  const x = left(Math.max(one.fromMs, fromMs));
                  const wide = Math.max(1, left(Math.min(one.toMs, toMs)) - x - gapPx);
                  const shown = panel.options.showValue !== 'never' && measureText(one.text, FONT_PX).width < wide;
                  const style = {
                    ...at(x, row * rowPx + (rowPx - boxPx) / 2, wide, boxPx, boxPx),
                    background: one.colour,
                    color: theme.colors.getContrastText(one.colour),
                    textAlign: panel.options.alignValue ?? 'left',
                  };
                  return (
                    <div key={index} data-state={one.text} data-colour={one.colour} style={style}>
                      {shown && one.text}
                    </div>
                  );
                })}
              </div>
            ))}
            {Array.from({ length: TICKS }, (_, tick) => {
              const ms = fromMs + ((tick + 0.5) / TICKS) * (toMs - fromMs);
              const style = {
                ...at(left(ms) - 30, plotHeight - AXIS_PX, 60, AXIS_PX, AXIS_PX),
                textAlign: 'center' as const,
              };
              return (
                <div key={tick} style={style}>
                  {dateTimeFormat(ms, { format: 'HH:mm:ss', timeZone: TIME_ZONE })}
                </div>
              );
            })}
          </div>
        );
      }}
    </VizLayout>
  );
}

function at(left: number, top: number, width: number, height: number, lineHeight: number) {
  return {
    position: 'absolute' as const,
    overflow: 'hidden',
    whiteSpace: 'nowrap' as const,
    left,
    top,
    width,
    height,
    lineHeight: `${lineHeight}px`,
  };
}

function stretchesOf(time: Field<number>, field: Field, merge: boolean): Stretch[] {
  const stepMs = time.config.interval ?? 0;
  const found: Stretch[] = [];
  time.values.forEach((fromMs, row) => {
    if (field.values[row] === null) {
      return;
    }
    const shown = field.display!(field.values[row]);
    const next = time.values[row + 1] ?? fromMs + stepMs;
    const toMs = Math.min(next, fromMs + stepMs); // a sample that is missing leaves a gap
    const state = { fromMs, toMs, text: formattedValueToString(shown), colour: shown.color ?? 'transparent' };
    const last = found.at(-1);
    if (merge && last && last.toMs === fromMs && last.text === state.text && last.colour === state.colour) {
      last.toMs = toMs;
    } else {
      found.push(state);
    }
  });
  return found;
}

/** Grafana's choice of what the legend names: the thresholds when there are some, else the states. */
function legendOf(options: VizLegendOptions, fields: Field[], theme: GrafanaTheme2) {
  if (!options.showLegend) {
    return null;
  }
  const { color, thresholds } = fields[0].config;
  const byThreshold = color?.mode === FieldColorModeId.Thresholds && (thresholds?.steps.length ?? 0) > 1;
  const items = byThreshold ? thresholdItems(fields[0], theme) : stateItems(fields);
  return (
    <VizLayout.Legend placement={options.placement}>
      <VizLegend placement={options.placement} displayMode={options.displayMode} items={items} readonly />
    </VizLayout.Legend>
  );
}

function thresholdItems(field: Field, theme: GrafanaTheme2): VizLegendItem[] {
  const steps = field.config.thresholds!.steps;
  const text = (value: number) => formattedValueToString(getValueFormat(field.config.unit)(value));
  return steps.map((step, index) => ({
    label: step.value === -Infinity ? `< ${text(steps[index + 1].value)}` : `${text(step.value)}+`,
    color: theme.visualization.getColorByName(step.color),
    yAxis: 1,
  }));
}

function stateItems(fields: Field[]): VizLegendItem[] {
  const shown = fields.flatMap((field) => field.values.map((value) => field.display!(value)));
  const colours = new Map(shown.filter((one) => one.color && one.text).map((one) => [one.text, one.color]));
  return [...colours].map(([label, color]) => ({ label, color, yAxis: 1 }));
}
