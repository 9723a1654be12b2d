const width = 720;
const labelWidth = 150;
const margin = 14;
const rowHeight = 18;
const barHeight = 10;
const titleHeight = 30;
const plotWidth = width - labelWidth - 2 * margin - 60;

/** A grey and a blue, legible on white and on black. */
const style =
  'text{font:12px system-ui,sans-serif;fill:#7d8590}.title{font-weight:600}.bar{fill:#3b82c4}.peer{stroke:#7d8590;stroke-dasharray:3 3}';

const escapeText = (text) => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

const text = (x, y, content, attributes = '') =>
  `<text x="${x}" y="${y}"${attributes}>${escapeText(content)}</text>`;

/**
 * Bars of ratios, in panels with a common scale and a line at 1 (the peer). `panels`: list of {title, bars}; bars: list
 * of {label, value}.
 */
export function ratioChart(panels) {
  const most = Math.max(1, ...panels.flatMap(({ bars }) => bars.map(({ value }) => value)));
  const from = margin + labelWidth;
  const x = (value) => Number((from + (plotWidth * value) / most).toFixed(1));
  const parts = [];
  let y = 0;
  for (const { title, bars } of panels) {
    parts.push(text(margin, y + 20, title, ' class="title"'));
    y += titleHeight;
    for (const { label, value } of bars) {
      parts.push(text(from - 8, y + barHeight - 1, label, ' text-anchor="end"'));
      parts.push(
        `<rect class="bar" x="${from}" y="${y}" width="${(x(value) - from).toFixed(1)}" height="${barHeight}" rx="2"/>`,
      );
      parts.push(text(width - margin, y + barHeight - 1, `${value.toFixed(2)} ×`, ' text-anchor="end"'));
      y += rowHeight;
    }
  }
  const height = y + titleHeight;
  parts.push(`<line class="peer" x1="${x(1)}" x2="${x(1)}" y1="${titleHeight - 6}" y2="${y}"/>`);
  parts.push(text(x(1), y + 14, 'node-llama-cpp = 1', ' text-anchor="middle"'));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${style}</style>\n${parts.join('\n')}\n</svg>\n`;
}
