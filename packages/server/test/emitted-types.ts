import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const path = fileURLToPath(new URL('emitted.ts', import.meta.url));

/** Values keep their types, and may have more fields than OpenAI's types: its API has them too. */
const head = `
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;
declare const of: <const T>(value: T) => Mutable<T>;
`;

interface Emitted {
  readonly usage?: unknown;
  readonly error?: { readonly code: string } | null;
}

/**
 * As its type has it: `output_text` is the client's own, `usage: null` an absent one, and the types lack a code that the
 * API has.
 */
function typed(response: object): object {
  const { usage, error, ...rest } = response as Emitted;
  const isTooLong = error?.code === 'context_length_exceeded';
  return {
    ...rest,
    error: isTooLong ? { ...error, code: 'invalid_prompt' } : error,
    ...(usage != null && { usage }),
    output_text: '',
  };
}

const typedEvent = (event: object): object =>
  'response' in event ? { ...event, response: typed(event.response as object) } : event;

/** Faults that the compiler finds in events and whole responses, by the types of OpenAI's client. */
export function emittedFaults(events: readonly object[], responses: readonly object[]): string[] {
  const lines = [
    ...events.map(
      (event, i) => `const e${i}: ResponseStreamEvent = of(${JSON.stringify(typedEvent(event))});`,
    ),
    ...responses.map((response, i) => `const r${i}: Response = of(${JSON.stringify(typed(response))});`),
  ];
  return faultsOf(head + lines.join('\n'));
}

function faultsOf(source: string): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.fileExists = (name) => name === path || ts.sys.fileExists(name);
  host.getSourceFile = (name, target) =>
    name === path ? ts.createSourceFile(name, source, target, true) : read(name, target);
  const program = ts.createProgram([path], options, host);
  const file = program.getSourceFile(path)!;
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'),
  );
}
