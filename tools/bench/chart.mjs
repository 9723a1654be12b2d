const width = 720;
const labelWidth = 150;
const margin = 14;
const rowHeight = 18;
const barHeight = 10;
const legendHeight = 20;
const titleHeight = 30;
const plotWidth = width - labelWidth - 2 * margin - 60;

/** A grey, a blue and an orange, legible on white and on black. */
const style =
  'text{font:12px system-ui,sans-serif;fill:#7d8590}.title{font-weight:600}.bar0{fill:#3b82c4}.bar1{fill:#d98a3d}.peer{stroke:#7d8590;stroke-dasharray:3 3}';

const escapeText = (text) => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

const text = (x, y, content, attributes = '') =>
  `<text x="${x}" y="${y}"${attributes}>${escapeText(content)}</text>`;

const rectangle = (x, y, length, of) =>
  `<rect class="bar${of}" x="${x}" y="${y}" width="${length}" height="${barHeight}" rx="2"/>`;

/** A colour and a text per peer, one below another. */
const legend = (peers, y) =>
  peers.flatMap((peer, of) => [
    rectangle(margin + labelWidth, y + legendHeight * of, 20, of),
    text(margin + labelWidth + 28, y + legendHeight * of + barHeight - 1, `beside ${peer}`),
  ]);

/**
 * Bars of ratios, in panels with a common scale and a line at 1. `panels`: list of {title, bars}; bars: list of {label,
 * values}, a value per peer, undefined where it was not measured.
 */
export function ratioChart(panels, peers) {
  const values = panels.flatMap(({ bars }) => bars.flatMap((bar) => bar.values));
  const most = Math.max(1, ...values.filter((value) => value !== undefined));
  const from = margin + labelWidth;
  const x = (value) => Number((from + (plotWidth * value) / most).toFixed(1));
  const parts = legend(peers, margin);
  const top = margin + legendHeight * peers.length;
  let y = top;
  for (const { title, bars } of panels) {
    parts.push(text(margin, y + 20, title, ' class="title"'));
    y += titleHeight;
    for (const { label, values: ratios } of bars) {
      parts.push(text(from - 8, y + barHeight - 1, label, ' text-anchor="end"'));
      for (const [of, value] of ratios.entries()) {
        if (value === undefined) continue;
        parts.push(rectangle(from, y, (x(value) - from).toFixed(1), of));
        parts.push(text(width - margin, y + barHeight - 1, `${value.toFixed(2)} ×`, ' text-anchor="end"'));
        y += rowHeight;
      }
    }
  }
  const height = y + titleHeight;
  parts.push(`<line class="peer" x1="${x(1)}" x2="${x(1)}" y1="${top + titleHeight - 6}" y2="${y}"/>`);
  parts.push(text(x(1), y + 14, '1: equally fast', ' text-anchor="middle"'));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${style}</style>\n${parts.join('\n')}\n</svg>\n`;
}
