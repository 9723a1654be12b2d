export const encoderKinds: Readonly<Record<string, unknown>>;
export function writeEncoderFolder(folder: string, kind: string): void;
