import { createTheme, type GrafanaTheme2, type InterpolateFunction, ThemeContext } from '@grafana/data';
import { GlobalStyles } from '@grafana/ui';
import { createRoot, type Root } from 'react-dom/client';
import 'uplot/dist/uPlot.min.css';
import './page.css';
import { Board, type Prepared } from './board';
import type { BoardDocument, Panel } from './document';
import { configured } from './fields';
import { framesOf } from './frames';
import { type Report, reportOf } from './report';
import { settled } from './settled';
import { interpolation } from './variables';

declare global {
  interface Window {
    /** Draws a board in place of the one before; resolves when it stands still. */
    drawBoard: (given: BoardDocument) => Promise<Report>;
  }
}

let root: Root | undefined;

window.drawBoard = async (given) => {
  const theme = createTheme({ colors: { mode: 'dark' } });
  const replaceVariables = interpolation(given);
  const prepared = await Promise.all(given.board.panels.map((panel) => prepare(panel, given, theme, replaceVariables)));
  root?.unmount();
  root = createRoot(document.getElementById('board')!);
  root.render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <Board
        document={given}
        prepared={prepared}
        width={window.innerWidth}
        theme={theme}
        replaceVariables={replaceVariables}
      />
    </ThemeContext.Provider>
  );
  await settled();
  return reportOf(given, prepared, replaceVariables);
};

async function prepare(
  panel: Panel,
  given: BoardDocument,
  theme: GrafanaTheme2,
  replace: InterpolateFunction
): Promise<Prepared> {
  try {
    return { panel, frames: await configured(panel, framesOf(given.answers[panel.id] ?? []), theme, replace) };
  } catch (error) {
    return { panel, frames: [], error: String(error) };
  }
}
