import { exitStatus } from '../terminal/exit-status.js';
import { write, writeJson } from '../terminal/write.js';
import { examine } from './report.js';
import { showReport } from './show.js';

/** Prints the report; exit status 1 where there are faults. Imports no package of Quern at its start: they may be the fault. */
export async function doctor({ json }: { readonly json?: boolean }): Promise<void> {
  const report = await examine();
  await (json ? writeJson(report) : write(showReport(report)));
  if (report.faults.length > 0) process.exitCode = exitStatus.failed;
}
