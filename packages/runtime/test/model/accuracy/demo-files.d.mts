import type { GgufFormat } from '@quern/quant';

export interface DemoFiles {
  readonly folder: string;
  readonly encoded: string;
  readonly decoded: string;
}

export declare function writeDemoFiles(format: GgufFormat, wide?: boolean): Promise<DemoFiles>;
