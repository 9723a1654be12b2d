import { Command } from 'commander';
import { doctor } from '../doctor/run.js';

export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'examine this installation, for bug reports: what is found, and what helps; exit code 1 if there are faults',
    )
    .option(
      '--json',
      'print {"quern", "system", "cpu", "memory", "packages", "backends", …, "faults", "notes"}',
    )
    .action(doctor);
