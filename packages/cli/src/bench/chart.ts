import { figure } from '../terminal/figure.js';
import { nameOf, type Run } from './table.js';
import { showWork } from './works.js';

interface Bar {
  readonly label: string;
  readonly value: number;
}

const width = 720;
const labelWidth = 320;
const valueWidth = 60;
const rowHeight = 22;
const barHeight = 12;
const titleHeight = 34;
const margin = 14;

/** A grey and a blue, legible on white and on black. */
const style = `text{font:12px system-ui,sans-serif;fill:#7d8590}.title{font-weight:600}.bar{fill:#3b82c4}`;

const escapeText = (text: string): string =>
  text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x}" y="${y}"${attributes}>${escapeText(content)}</text>`;

function barRow({ label, value }: Bar, y: number, most: number): string {
  const length = ((width - labelWidth - valueWidth - 2 * margin) * value) / most;
  const from = margin + labelWidth;
  const baseline = y + barHeight - 2;
  return [
    text(from - 10, baseline, label, ' text-anchor="end"'),
    `<rect class="bar" x="${from}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
    text(Math.round(from + length + 8), baseline, figure(value)),
  ].join('');
}

function panel(title: string, bars: readonly Bar[], top: number): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const rows = bars.map((bar, i) => barRow(bar, top + titleHeight + i * rowHeight, most));
  return text(margin, top + 20, title, ' class="title"') + rows.join('\n');
}

/** SVG bars of tokens per second: a panel per kind of work, each with its own scale. */
export function chartOf(runs: readonly Run[]): string {
  const where = ({ isa, threads, precision = '' }: Run) => `${isa} × ${threads} ${precision}`.trimEnd();
  const several = new Set(runs.map(where)).size > 1;
  const barsOf = (kind: string): Bar[] =>
    runs.flatMap((run) =>
      run.works
        .filter((work) => work.kind === kind)
        .map((work) => ({
          label: `${nameOf(run)}${several ? `, ${where(run)}` : ''}, ${showWork(work)}`,
          value: work.tokensPerSecond,
        })),
    );
  const kinds = ['prefill', 'decode', 'embed', 'hear', 'write'];
  return barChart(kinds.map((kind) => ({ title: `${kind}, tokens per second`, bars: barsOf(kind) })));
}

/** A title, and bars of one scale. */
export interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
}

/** An SVG of panels, one below the other. Panels without bars are left out. */
export function barChart(all: readonly Panel[]): string {
  const panels: string[] = [];
  let top = 0;
  for (const { title, bars } of all) {
    if (bars.length === 0) continue;
    panels.push(panel(title, bars, top));
    top += titleHeight + bars.length * rowHeight;
  }
  const height = top + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${style}</style>\n${panels.join('\n')}\n</svg>\n`;
}
