import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding, Findings } from './finding.js';
import { textAt } from './read-text.js';

export interface GpuReport {
  /** Cards on the PCI bus, of every maker that has a backend. */
  readonly nvidiaCards: number;
  /** Version of NVIDIA's driver in the kernel; absent: none is loaded. */
  readonly nvidiaDriver?: string;
  /** Path of the library libcuda; absent: none is found. */
  readonly nvidiaLibrary?: string;
  /** macOS on Apple's processors has Metal. */
  readonly metal: boolean;
}

const libraryFolders = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/lib/wsl/lib',
  '/usr/local/nvidia/lib64',
  '/usr/local/cuda/compat',
  '/run/opengl-driver/lib',
];

function libraryIn(root: string, env: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'win32') {
    const path = join(env.SystemRoot ?? 'C:\\Windows', 'System32', 'nvcuda.dll');
    return existsSync(path) ? path : undefined;
  }
  const own = (env.LD_LIBRARY_PATH ?? '').split(':').filter((folder) => folder !== '');
  const paths = [...own, ...libraryFolders].map((folder) => join(root, folder, 'libcuda.so.1'));
  return paths.find((path) => existsSync(path));
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Display controllers (class 03) of NVIDIA (vendor 10de). */
function cardsOn(root: string): number {
  const folder = `${root}/sys/bus/pci/devices`;
  return namesIn(folder).filter(
    (name) =>
      textAt(join(folder, name, 'vendor'))?.trim() === '0x10de' &&
      textAt(join(folder, name, 'class'))?.startsWith('0x03'),
  ).length;
}

/** @param root of the file system, for tests */
export function gpuReport(root = '', env: NodeJS.ProcessEnv = process.env): GpuReport {
  const driver = /Kernel Module.*?\s(\d+\.[\d.]+)/.exec(
    textAt(`${root}/proc/driver/nvidia/version`) ?? '',
  )?.[1];
  const library = libraryIn(root, env);
  return {
    nvidiaCards: cardsOn(root),
    ...(driver !== undefined && { nvidiaDriver: driver }),
    ...(library !== undefined && { nvidiaLibrary: library }),
    metal: process.platform === 'darwin' && process.arch === 'arm64',
  };
}

const backendOf = { nvidia: '@quern/backend-cuda', apple: '@quern/backend-metal' } as const;

/** @param installed names of the installed backends' packages */
export function gpuFindings(gpus: GpuReport, installed: readonly string[]): Findings {
  const { nvidiaCards, nvidiaDriver, nvidiaLibrary, metal } = gpus;
  const notes: Finding[] = [];
  if (nvidiaCards > 0 && nvidiaDriver === undefined)
    notes.push({
      what: 'an NVIDIA GPU is there, but its driver is not loaded',
      help: 'install the driver: https://www.nvidia.com/drivers',
    });
  if (nvidiaDriver !== undefined && nvidiaLibrary === undefined)
    notes.push({
      what: `NVIDIA's driver ${nvidiaDriver} is loaded, but its library libcuda.so.1 is not found`,
      help: 'docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility, or LD_LIBRARY_PATH with its folder',
    });
  const works = nvidiaLibrary !== undefined && (nvidiaDriver !== undefined || nvidiaCards > 0);
  if (works && !installed.includes(backendOf.nvidia))
    notes.push({
      what: 'an NVIDIA GPU is there, but no backend for it',
      help: `npm install ${backendOf.nvidia}`,
    });
  if (metal && !installed.includes(backendOf.apple))
    notes.push({
      what: "Apple's GPU is there, but no backend for it",
      help: `npm install ${backendOf.apple}`,
    });
  return { faults: [], notes };
}
