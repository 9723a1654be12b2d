import type { Architecture } from '@quern/models';

export function writeDemoFolder(folder: string): Promise<void>;
export function writeRandomFolder(folder: string, architecture: Architecture): Promise<void>;
