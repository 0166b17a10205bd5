import {
  type DataFrame,
  type DisplayValue,
  type Field,
  getFieldDisplayName,
  getFieldDisplayValuesProxy,
  type InterpolateFunction,
} from '@grafana/data';
import type { BoardDocument } from './document';

interface DataContext {
  data: DataFrame[];
  frame: DataFrame;
  field: Field;
  rowIndex?: number;
  calculatedValue?: DisplayValue;
}

const REFERENCE = /\$\{([^}:]+)(?::(\w+))?\}|\$(\w+)/g;

/**
 * Fills `${name}`, `${name:format}` and `$name` in titles and addresses as Grafana does. What is not known stays as it
 * is written, as in Grafana: whoever looks for a `$` finds it.
 */
export function interpolation(document: BoardDocument): InterpolateFunction {
  const range = `from=${document.fromMs}&to=${document.toMs}`;
  const variables = new Map(document.variables.map((one) => [one.name, one]));

  return (text, scoped, defaultFormat) =>
    text.replace(REFERENCE, (written: string, braced?: string, ownFormat?: string, bare?: string) => {
      const name = braced ?? bare ?? '';
      const format = ownFormat ?? defaultFormat;
      if (name === '__url_time_range') {
        return range;
      }
      const variable = variables.get(name);
      if (variable && format === 'queryparam') {
        return `var-${name}=${encodeURIComponent(variable.value)}`;
      }
      const value = variable
        ? format === 'text'
          ? variable.text
          : variable.expression
        : valueOf(name, scoped?.__dataContext?.value);
      if (value === undefined) {
        return written;
      }
      return format === 'uriencode' ? encodeURI(value) : format === 'percentencode' ? encodeURIComponent(value) : value;
    });
}

function valueOf(name: string, context?: DataContext): string | undefined {
  if (!context) {
    return undefined;
  }
  const { field, frame, data } = context;
  const label = /^__field\.labels\.(\w+)$|^__field\.labels\["(.+)"\]$/.exec(name);
  if (label) {
    return field.labels?.[label[1] ?? label[2]];
  }
  const column = /^__data\.fields(?:\.(\w+)|\["(.+)"\])(?:\.(text|numeric))?$/.exec(name);
  if (column) {
    // The formatted text, not the raw value: Grafana has no other.
    const cells =
      context.rowIndex === undefined ? {} : getFieldDisplayValuesProxy({ frame, rowIndex: context.rowIndex });
    const cell = cells[column[1] ?? column[2]];
    return cell === undefined ? undefined : String(column[3] ? cell[column[3] as 'text' | 'numeric'] : cell);
  }
  switch (name) {
    case '__field.name':
      return getFieldDisplayName(field, frame, data);
    case '__series.name':
      return frame.name ?? getFieldDisplayName(field, frame, data);
    case '__value.raw':
    case '__value.numeric':
      return context.rowIndex === undefined
        ? context.calculatedValue && String(context.calculatedValue.numeric)
        : String(field.values[context.rowIndex]);
    case '__value.text':
      return context.rowIndex === undefined ? context.calculatedValue?.text : shown(field, context.rowIndex);
  }
  return undefined;
}

function shown(field: Field, row: number): string {
  return field.display ? field.display(field.values[row]).text : String(field.values[row]);
}
