// Fails if an object file of an instruction set defines a weak symbol: the linker may keep that copy for the whole
// program, and a machine without the instructions would crash in unrelated code. Checks the objects of `cmake-js build`
// in packages/backend-cpu/build, cross-built ones below it, and quant's.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../packages/backend-cpu/', import.meta.url));
const builds = ['build', 'build/linux-arm64-gnu'].map((build) =>
  join(root, build, 'CMakeFiles/backend_cpu.dir/native/kernels'),
);
builds.push(join(root, '../quant/build/CMakeFiles/quant.dir/native'));

/** Objects for every machine: their weak symbols are harmless. */
const forAll = ['scalar', 'addon.cc', 'baseline.cc'];

/** nm's types of symbols with interchangeable copies: weak functions and objects, unique globals. */
const isShared = (type) => 'WVu'.includes(type);

function sharedSymbols(object) {
  const lines = execFileSync('nm', ['--demangle', '--defined-only', object], { encoding: 'utf8' }).split(
    '\n',
  );
  return lines.filter((line) => isShared(line.split(' ')[1] ?? ' ')).map((line) => line.slice(19));
}

function objectsOf(kernels) {
  const paths = readdirSync(kernels, { recursive: true }).map((path) => join(kernels, path));
  return paths.filter(
    (path) => /\.(o|obj)$/.test(path) && !forAll.some((name) => path.startsWith(join(kernels, name))),
  );
}

const built = builds.filter(existsSync);
if (built.length === 0) {
  console.log('check-native-symbols: skipped, packages/backend-cpu has not been built here');
  process.exit(0);
}
const objects = built.flatMap(objectsOf);
const offences = objects.flatMap((object) =>
  sharedSymbols(object).map((name) => `${relative(root, object)}: ${name}`),
);
if (offences.length || !objects.length) {
  console.error(
    objects.length ? 'weak symbols in objects of an instruction set:' : `no objects in ${built.join(', ')}`,
  );
  for (const offence of offences) console.error(`  ${offence}`);
  process.exit(1);
}
console.log(`check-native-symbols: ${objects.length} objects, no weak symbols`);
