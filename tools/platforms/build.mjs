// Builds the addon of a package for a platform with Zig and CMake, and puts it into the platform's package.
import { copyFileSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { faultOfAddon } from '../gpu-addon.mjs';
import { root, run } from '../setup.mjs';
import { addonFile, platforms } from './platforms.mjs';
import { zig } from './zig.mjs';

const toolchain = join(root, 'tools/platforms/zig.cmake');

/** Options of a package's CMakeLists.txt. The kernels for NVIDIA's GPUs take minutes, and are the same on every platform. */
const optionsOf = {
  'backend-cpu': { QUERN_NATIVE_TESTS: 'ON', QUERN_TEST_ADDON_OBJECTS: 'ON' },
  'backend-cuda': { QUERN_CUDA_IMAGE: join(root, 'packages/backend-cuda/build/kernels.fatbin') },
};

function configure(name, build, output, { target, system, processor }) {
  const values = {
    CMAKE_TOOLCHAIN_FILE: toolchain,
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_LIBRARY_OUTPUT_DIRECTORY: output,
    QUERN_ZIG: zig(),
    QUERN_ZIG_TARGET: target,
    QUERN_TARGET_SYSTEM: system,
    QUERN_TARGET_PROCESSOR: processor,
    ...optionsOf[name],
  };
  const defined = Object.entries(values).map(([option, value]) => `-D${option}=${value}`);
  run('cmake', ['-S', join(root, 'packages', name), '-B', build, ...defined], { quiet: true });
}

/** The folder of objects; the addon lies in `build/<platform>/Release`, where tools/stage-prebuilds.mjs looks. */
export function buildAddon(name, platform) {
  const folder = join(root, 'packages', name, 'build', platform);
  const output = join(folder, 'Release');
  const objects = join(folder, 'zig');
  configure(name, objects, output, platforms[platform]);
  run('cmake', ['--build', objects, '--parallel', String(availableParallelism())], { quiet: true });
  return join(output, addonFile(name));
}

/** Copies an addon into its platform package. Throws where the addon is not one for it. */
export function stage(name, platform, addon) {
  const fault = name === 'backend-cuda' ? faultOfAddon(addon) : undefined;
  if (fault) throw new Error(fault);
  const folder = join(root, 'packages', name, 'npm', platform);
  mkdirSync(folder, { recursive: true });
  const staged = join(folder, addonFile(name));
  copyFileSync(addon, staged);
  return staged;
}
