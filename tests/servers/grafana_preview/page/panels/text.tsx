import { renderTextPanelMarkdown } from '@grafana/data';
import type { PanelProps } from './props';

/** Words: Markdown, or HTML as it is. */
export function Text({ panel, replaceVariables, height }: PanelProps) {
  const content = replaceVariables(panel.options.content ?? '');
  const html = panel.options.mode === 'html' ? content : renderTextPanelMarkdown(content);
  return (
    <div className="markdown-html" style={{ height, overflow: 'auto' }} dangerouslySetInnerHTML={{ __html: html }} />
  );
}
