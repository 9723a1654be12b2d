/** What hinders Quern on this machine, and what helps: a sentence, which may begin with a command. */
export interface Finding {
  readonly what: string;
  readonly help: string;
}

/** The findings of one part of the report. */
export interface Findings {
  /** Something that was installed or asked for does not work. */
  readonly faults: readonly Finding[];
  /** Quern works, but slower or with less than this machine may have. */
  readonly notes: readonly Finding[];
}

export const noFindings: Findings = { faults: [], notes: [] };

export const joined = (all: readonly Findings[]): Findings => ({
  faults: all.flatMap(({ faults }) => faults),
  notes: all.flatMap(({ notes }) => notes),
});
