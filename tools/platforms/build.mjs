// Builds the addon of a package for a platform with Zig and CMake, and puts it into the platform's package.
import { copyFileSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root, run } from '../setup.mjs';
import { addonFile, platforms } from './platforms.mjs';
import { zig } from './zig.mjs';

const toolchain = join(root, 'tools/platforms/zig.cmake');

function configure(source, build, output, { target, system, processor }) {
  const values = {
    CMAKE_TOOLCHAIN_FILE: toolchain,
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_LIBRARY_OUTPUT_DIRECTORY: output,
    QUERN_NATIVE_TESTS: 'ON',
    QUERN_TEST_ADDON_OBJECTS: 'ON',
    QUERN_ZIG: zig(),
    QUERN_ZIG_TARGET: target,
    QUERN_TARGET_SYSTEM: system,
    QUERN_TARGET_PROCESSOR: processor,
  };
  const defined = Object.entries(values).map(([name, value]) => `-D${name}=${value}`);
  run('cmake', ['-S', source, '-B', build, ...defined], { quiet: true });
}

/** The folder of objects; the addon lies in `build/<platform>/Release`, where tools/stage-prebuilds.mjs looks. */
export function buildAddon(name, platform) {
  const source = join(root, 'packages', name);
  const output = join(source, 'build', platform, 'Release');
  const objects = join(source, 'build', platform, 'zig');
  configure(source, objects, output, platforms[platform]);
  run('cmake', ['--build', objects, '--parallel', String(availableParallelism())], { quiet: true });
  return join(output, addonFile(name));
}

/** Copies an addon into its platform package. */
export function stage(name, platform, addon) {
  const folder = join(root, 'packages', name, 'npm', platform);
  mkdirSync(folder, { recursive: true });
  const staged = join(folder, addonFile(name));
  copyFileSync(addon, staged);
  return staged;
}
