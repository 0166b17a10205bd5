import { dateTime, type DataFrame, type GrafanaTheme2, type InterpolateFunction, type TimeRange } from '@grafana/data';
import { PanelChrome } from '@grafana/ui';
import { Component, type ReactNode } from 'react';
import type { BoardDocument, Panel } from './document';
import { VIEWS, type PanelProps } from './panels';

// Grafana's grid: 24 columns, rows of 30 pixels, 8 pixels between panels, 16 around the board.
const COLUMNS = 24;
const ROW_PX = 30;
const GAP_PX = 8;
const EDGE_PX = 16;
const HEADER_PX = 48;

/** A panel whose frames are configured, or why they could not be. */
export interface Prepared {
  panel: Panel;
  frames: DataFrame[];
  error?: string;
}

interface BoardProps {
  document: BoardDocument;
  prepared: Prepared[];
  width: number;
  theme: GrafanaTheme2;
  replaceVariables: InterpolateFunction;
}

/** Everything that a reader sees of a board without a scroll bar. */
export function Board({ document, prepared, width, theme, replaceVariables }: BoardProps) {
  const rows = Math.max(...prepared.map(({ panel }) => panel.gridPos.y + panel.gridPos.h));
  const [from, to] = [dateTime(document.fromMs), dateTime(document.toMs)];
  const range: TimeRange = { from, to, raw: { from, to } };
  return (
    <div style={{ position: 'relative', width, height: HEADER_PX + rows * (ROW_PX + GAP_PX) + EDGE_PX }}>
      <Header document={document} range={range} />
      {prepared.map((one) => (
        <Placed key={one.panel.id} prepared={one} title={replaceVariables(one.panel.title, {}, 'text')} width={width}>
          {(inside) => (
            <Contents
              {...one}
              {...inside}
              annotations={document.annotations}
              range={range}
              theme={theme}
              replaceVariables={replaceVariables}
            />
          )}
        </Placed>
      ))}
    </div>
  );
}

function Header({ document, range }: { document: BoardDocument; range: TimeRange }) {
  const chosen = document.variables.map((one) => `${one.label} ${one.text}`).join('  ·  ');
  const times = `${range.from.utc().format('HH:mm:ss')} to ${range.to.utc().format('HH:mm:ss')} UTC`;
  return (
    <header style={{ padding: `12px ${EDGE_PX}px`, display: 'flex', gap: 32, whiteSpace: 'pre' }}>
      <b>{document.board.title}</b> <span>{chosen}</span> <span>{times}</span>
    </header>
  );
}

interface PlacedProps {
  prepared: Prepared;
  width: number;
  children: (inside: { width: number; height: number }) => ReactNode;
  title: string;
}

function Placed({ prepared: { panel }, title, width, children }: PlacedProps) {
  const { x, y, w, h } = panel.gridPos;
  const column = (width - 2 * EDGE_PX + GAP_PX) / COLUMNS;
  const size = { width: w * column - GAP_PX, height: h * (ROW_PX + GAP_PX) - GAP_PX };
  const left = EDGE_PX + x * column;
  const top = HEADER_PX + y * (ROW_PX + GAP_PX);
  return (
    <section data-panel={panel.id} style={{ position: 'absolute', left, top, ...size }}>
      <PanelChrome
        width={size.width}
        height={size.height}
        title={title}
        description={panel.description}
        padding={VIEWS[panel.type]?.edgeToEdge ? 'none' : 'md'}
      >
        {(innerWidth, innerHeight) => <Safe>{children({ width: innerWidth, height: innerHeight })}</Safe>}
      </PanelChrome>
    </section>
  );
}

function Contents({ error, ...props }: PanelProps & { error?: string }) {
  const view = VIEWS[props.panel.type];
  if (error !== undefined || !view) {
    throw new Error(error ?? `no way to draw a panel of type ${props.panel.type}`);
  }
  if (!view.ownNoValue && props.frames.every((frame) => frame.length === 0)) {
    return <div style={{ padding: 16 }}>{props.panel.fieldConfig.defaults.noValue ?? 'No data'}</div>;
  }
  return <view.draw {...props} />;
}

/** Shows what a panel threw in its place: the others are drawn. */
class Safe extends Component<{ children: ReactNode }, { error?: Error }> {
  state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  render() {
    return this.state.error ? <div data-error>{String(this.state.error)}</div> : this.props.children;
  }
}
