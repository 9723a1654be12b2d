// docs/platforms.md, from results.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { addons } from './platforms.mjs';
import { readResults } from './results.mjs';

const page = join(root, 'docs/platforms.md');

const head = `<!-- Written by \`node tools/platforms.mjs --table\` from tools/platforms/results.json. -->

# Platforms

\`npm install\` takes the binary of its platform from an optional package, such as \`@quern/backend-cpu-linux-x64-gnu\`. No install script runs. On other
systems \`npx quern-backend-cpu build\` compiles the binary; \`@quern/quant\` encodes in JavaScript there.

\`node tools/platforms.mjs\` builds the binaries of these tables on one Linux machine, with the clang 16 of Zig 0.11, and \`--test\` runs them. C++'s
library is inside the binaries. Empty cell: not run. "needs" comes from the headers of the file.
`;

const size = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** A result in a cell; a failure in bold. */
function cell(result, text) {
  if (result === undefined) return '';
  return result.failed && typeof result.failed === 'string' ? `**failed**: ${result.failed}` : text(result);
}

const columns = {
  platform: (_, platform) => platform,
  size: ({ bytes }) => size(bytes),
  needs: ({ needs }) => needs,
  'how it was run': ({ how }) => how,
};
const cpuColumns = {
  ...columns,
  'native tests': ({ native }) => cell(native, ({ programs, passed }) => `${programs}: ${passed} passed`),
  'conformance kit': ({ kit }) =>
    cell(kit, ({ passed, failed, notSupported }) =>
      [`${passed} passed`, `${failed} failed`, `${notSupported} not supported`].join(', '),
    ),
  'story of the demo model': ({ story }) => cell(story, (tokens) => `same text, ${tokens}`),
  '`quern serve`': ({ serve }) => cell(serve, () => 'answered'),
};
const quantColumns = {
  ...columns,
  'same bits as in JavaScript': ({ searches }) => cell(searches, (count) => `${count} tests passed`),
};
const { size: _, ...withoutSize } = columns;
const cudaColumns = {
  ...withoutSize,
  'without a GPU it says': ({ refusal }) => cell(refusal, (sentence) => sentence),
};

/** A Markdown table with a row per platform; a platform that was not built has an empty row. */
function table(name, columns, results) {
  const titles = Object.keys(columns);
  const rows = addons[name].map((platform) => {
    const result = results[platform]?.[name];
    return result
      ? titles.map((title) => columns[title](result, platform))
      : [platform, 'not built', ...titles.slice(2).map(() => '')];
  });
  const all = [titles, ...rows];
  const widths = titles.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  const line = (row) => `| ${row.map((text, i) => text.padEnd(widths[i])).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** The text of the page. */
export function platformsPage(results = readResults()) {
  return `${head}
## @quern/backend-cpu

${table('backend-cpu', cpuColumns, results)}

## @quern/quant

${table('quant', quantColumns, results)}

## @quern/backend-cuda

\`node tools/platforms.mjs backend-cuda\` compiles the kernels with nvcc, once for all platforms; they are most of an addon ([sizes](cuda.md#how-it-is-built)).
These addons, with the kernels of six architectures, were loaded on machines without a GPU and said what is missing there; the H200 ran one by g++ ([figures](cuda.md#figures)).

${table('backend-cuda', cudaColumns, results)}

## @quern/backend-metal

Built and inspected, not run: a release takes the binary that Apple's clang makes on a hosted Mac, and tests it there (.github/workflows/mac.yml). It
needs macOS 15; an older one, from 12 on, loads the binary and gets the reason. Metal and Foundation are opened at run time, and no headers or stubs
of Apple's frameworks are needed to build.

${table('backend-metal', columns, results)}
`;
}

export const writePage = () => writeFileSync(page, platformsPage());

/** Whether the page is that of the results. */
export const isCurrent = () => readFileSync(page, 'utf8') === platformsPage();
