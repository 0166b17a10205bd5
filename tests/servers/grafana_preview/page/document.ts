import type { DataLink, DataTransformerConfig, FieldConfigSource } from '@grafana/data';

/** Labels and values of one series as Prometheus' HTTP API has them: seconds, and the value as text. */
export interface Series {
  metric: Record<string, string>;
  value?: [number, string];
  values?: Array<[number, string]>;
}

/** What Prometheus answered to one query of a panel, and what Grafana needs to make a frame of it. */
export interface Answer {
  refId: string;
  legendFormat: string;
  format: string;
  stepMs: number;
  result: Series[];
}

export interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig: FieldConfigSource;
  options: Record<string, any>;
  transformations?: DataTransformerConfig[];
  links?: DataLink[];
}

export interface Board {
  uid: string;
  title: string;
  panels: Panel[];
  links?: DataLink[];
}

/** Moments at which something happened, drawn over the plots. */
export interface Annotation {
  name: string;
  colour: string;
  regions: Array<{ fromMs: number; toMs: number; text: string }>;
}

/**
 * A variable: value is what an address carries (`$__all`), text what people read (`All`), expression what a query gets
 * (`.*`).
 */
export interface Variable {
  name: string;
  label: string;
  value: string;
  text: string;
  expression: string;
}

/** All that the page draws; `tests/acceptance/board_documents.py` writes it. */
export interface BoardDocument {
  board: Board;
  answers: Record<string, Answer[]>;
  annotations: Annotation[];
  variables: Variable[];
  fromMs: number;
  toMs: number;
}
