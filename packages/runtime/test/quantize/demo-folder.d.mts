export function writeDemoFolder(folder: string): Promise<void>;
