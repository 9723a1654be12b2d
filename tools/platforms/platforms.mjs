// The platforms with prebuilt binaries, and the packages that have them.

/** `target`: Zig's; `system`, `processor`: CMake's; `libc`: as in package.json. */
export const platforms = {
  'linux-x64-gnu': { target: 'x86_64-linux-gnu.2.28', system: 'Linux', processor: 'x86_64', libc: 'glibc' },
  'linux-arm64-gnu': {
    target: 'aarch64-linux-gnu.2.28',
    system: 'Linux',
    processor: 'aarch64',
    libc: 'glibc',
  },
  'linux-x64-musl': { target: 'x86_64-linux-musl', system: 'Linux', processor: 'x86_64', libc: 'musl' },
  'linux-arm64-musl': { target: 'aarch64-linux-musl', system: 'Linux', processor: 'aarch64', libc: 'musl' },
  'darwin-arm64': { target: 'aarch64-macos.12.0', system: 'Darwin', processor: 'arm64' },
  'darwin-x64': { target: 'x86_64-macos.12.0', system: 'Darwin', processor: 'x86_64' },
  'win32-x64': { target: 'x86_64-windows-gnu', system: 'Windows', processor: 'AMD64' },
  'win32-arm64': { target: 'aarch64-windows-gnu', system: 'Windows', processor: 'ARM64' },
};

/** Packages with an addon, and its platforms. */
export const addons = {
  'backend-cpu': Object.keys(platforms),
  quant: Object.keys(platforms),
  'backend-cuda': ['linux-x64-gnu', 'linux-arm64-gnu', 'win32-x64'],
  'backend-metal': ['darwin-arm64'],
};

/** 'backend-cpu' → 'backend_cpu.node'. */
export const addonFile = (name) => `${name.replaceAll('-', '_')}.node`;

/** 'linux-x64-gnu' → os 'linux', cpu 'x64'. */
export function partsOf(platform) {
  const [os, cpu] = platform.split('-');
  return { os, cpu, libc: platforms[platform].libc };
}

const hasGlibc = () => process.report.getReport().header.glibcVersionRuntime !== undefined;

/** The platform of this process: 'linux-x64-gnu'. */
export function platformHere() {
  const base = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? `${base}-${hasGlibc() ? 'gnu' : 'musl'}` : base;
}
