import { type DataFrame, type Field, FieldType, type Labels } from '@grafana/data';
import type { Answer, Series } from './document';

/** Prometheus' answers as the frames that Grafana's data source makes of them. */
export function framesOf(answers: Answer[]): DataFrame[] {
  const tables = answers.filter((one) => one.format === 'table');
  return answers.flatMap((answer) =>
    answer.format === 'table'
      ? tableOf(answer, tables.length > 1 ? `Value #${answer.refId}` : 'Value')
      : answer.result.map((series) => frameOf(answer, series))
  );
}

function frameOf(answer: Answer, series: Series): DataFrame {
  const points = pointsOf(series);
  const name = legendOf(answer.legendFormat, series.metric);
  const value: Field = {
    name: 'Value',
    type: FieldType.number,
    config: { displayNameFromDS: name },
    labels: series.metric,
    values: points.map(([, text]) => numberOf(text)),
  };
  // The interval is what tells Grafana where a line has a gap.
  const time = timeField(
    points.map(([seconds]) => seconds * 1000),
    answer.stepMs
  );
  return { refId: answer.refId, name, fields: [time, value], length: points.length };
}

function tableOf(answer: Answer, valueName: string): DataFrame[] {
  const rows = answer.result.flatMap((series) => pointsOf(series).map((point) => ({ metric: series.metric, point })));
  if (rows.length === 0) {
    return [];
  }
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.metric)))].sort();
  const columns: Field[] = labels.map((label) => ({
    name: label,
    type: FieldType.string,
    config: { filterable: true },
    values: rows.map((row) => row.metric[label] ?? ''),
  }));
  const value: Field = {
    name: valueName,
    type: FieldType.number,
    config: {},
    values: rows.map((row) => numberOf(row.point[1])),
  };
  const time = timeField(rows.map((row) => row.point[0] * 1000));
  return [{ refId: answer.refId, fields: [time, ...columns, value], length: rows.length }];
}

function timeField(values: number[], interval?: number): Field {
  return { name: 'Time', type: FieldType.time, config: { interval }, values };
}

function pointsOf(series: Series): Array<[number, string]> {
  return series.values ?? (series.value ? [series.value] : []);
}

function numberOf(text: string): number | null {
  const infinite: Record<string, number> = { '+Inf': Infinity, '-Inf': -Infinity };
  const value = infinite[text] ?? Number(text);
  return Number.isNaN(value) ? null : value;
}

function legendOf(format: string, labels: Labels): string {
  if (format !== '' && format !== '__auto') {
    return format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => labels[label] ?? '');
  }
  const { __name__: name = '', ...rest } = labels;
  const pairs = Object.entries(rest).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${pairs.join(', ')}}`;
}
