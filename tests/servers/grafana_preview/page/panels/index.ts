import type { ComponentType } from 'react';
import { Lines } from './lines';
import type { PanelProps } from './props';
import { Rows } from './rows';
import { Bars, Stat } from './stat';
import { Text } from './text';
import { StateTimeline, StatusHistory } from './timeline';

export type { PanelProps } from './props';

/**
 * How a type of panel is drawn. edgeToEdge: without a margin in its frame. ownNoValue: it says itself that there is
 * nothing.
 */
export interface View {
  draw: ComponentType<PanelProps>;
  edgeToEdge?: boolean;
  ownNoValue?: boolean;
}

/** By the panel's `type` in a board's JSON. */
export const VIEWS: Record<string, View | undefined> = {
  bargauge: { draw: Bars, ownNoValue: true },
  stat: { draw: Stat, ownNoValue: true, edgeToEdge: true },
  'state-timeline': { draw: StateTimeline },
  'status-history': { draw: StatusHistory },
  table: { draw: Rows, edgeToEdge: true },
  text: { draw: Text, ownNoValue: true },
  timeseries: { draw: Lines },
};
