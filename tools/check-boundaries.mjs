// Allowed imports between our packages (docs/architecture.md, section 1). Checks sources and package.json: an import
// must be a dependency, and a dependency must be allowed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const allowed = {
  core: [],
  conformance: ['core', 'quant'], // quant decodes a driver's block formats
  'backend-reference': ['core', 'quant'], // quant decodes GPTQ matrices
  'native-runtime': ['core'],
  'backend-cpu': ['core', 'native-runtime'],
  gpu: [],
  grammar: [],
  'backend-cuda': ['core', 'native-runtime'],
  'backend-metal': ['core', 'native-runtime'],
  quant: ['core', 'native-runtime'], // native-runtime: to find the addon
  hub: ['core'],
  models: ['core', 'quant'],
  runtime: ['core', 'quant', 'models', 'grammar', 'hub'], // hub: optional, imported for names alone
  server: ['core', 'runtime'],
  'ai-provider': ['runtime'],
  cli: ['core', 'runtime', 'conformance', 'server', 'hub'], // conformance: for `quern verify`
  'demo-model': [],
};
// Dependencies of `quern` that it does not import: a backend and a model, found at run time.
const accompanied = { cli: ['backend-cpu', 'demo-model'] };
// Development dependencies that the sources import: the build copies them into dist/ with their licences, since their packages have
// hundreds of files that nobody loads.
const copied = {
  conformance: ['commander'],
  runtime: ['@cfworker/json-schema', 'oniguruma-to-es'],
  server: ['@hono/node-server', 'hono', 'prom-client', 'zod'],
  cli: ['cli-progress', 'commander', 'string-width'],
};

const root = new URL('../packages/', import.meta.url).pathname;
const problems = [];

function sources(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

const imports = (file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\(|import|require\()\s*['"]([^'"\s]+)['"]/g)].map(
    (m) => m[1],
  );

function checkSource(name, file, dependencies) {
  for (const specifier of imports(file)) {
    const deep = /^@quern\/([^/]+)\/(.+)/.exec(specifier);
    if (deep && specifier !== '@quern/core/testing')
      problems.push(`${file}: imports ${specifier}; only the package's front door is public`);
    if (specifier.startsWith('.') && specifier.includes('/packages/'))
      problems.push(`${file}: reaches into another package by path`);
    const ours = /^@quern\/([^/]+)$/.exec(specifier)?.[1];
    if (ours && !allowed[name].includes(ours))
      problems.push(`${file}: ${name} may not import @quern/${ours}`);
    const external = /^(?![.]|node:)(@[^/]+\/[^/]+|[^/]+)/.exec(specifier)?.[1];
    if (external && !(external in dependencies) && !copied[name]?.includes(external))
      problems.push(`${file}: ${external} is not a dependency of ${name}`);
  }
}

/**
 * Circles of imports between files of one package. Type imports count: an interface shared by two files needs its own
 * file.
 */
function checkCircles(files) {
  const state = new Map(); // file → 'open' while its imports are followed, then 'done'
  const visit = (file, path) => {
    if (state.get(file) === 'done' || !files.has(file)) return;
    if (state.get(file) === 'open') {
      problems.push(`a circle of imports: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`);
      return;
    }
    state.set(file, 'open');
    for (const specifier of imports(file))
      if (specifier.startsWith('.'))
        visit(join(dirname(file), specifier).replace(/\.js$/, '.ts'), [...path, file]);
    state.set(file, 'done');
  };
  for (const file of files) visit(file, []);
}

for (const name of readdirSync(root)) {
  const manifest = JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8'));
  if (!allowed[name]) problems.push(`packages/${name}: not in the table of tools/check-boundaries.mjs`);
  const dependencies = {
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  };
  for (const dependency of Object.keys(dependencies)) {
    const ours = /^@quern\/(.+)/.exec(dependency)?.[1];
    const platform = ours?.startsWith(`${name}-`);
    if (ours && !platform && ![...(allowed[name] ?? []), ...(accompanied[name] ?? [])].includes(ours))
      problems.push(`packages/${name}/package.json: ${name} may not depend on @quern/${ours}`);
  }
  const files = sources(join(root, name, 'src'));
  for (const file of files) checkSource(name, file, dependencies);
  checkCircles(new Set(files));
}

if (problems.length) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log('package boundaries hold');
