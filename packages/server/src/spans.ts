import type { Span, Tracer } from '@opentelemetry/api';

/** The application's tracer; undefined where it has not installed @opentelemetry/api. */
export async function findTracer(): Promise<Tracer | undefined> {
  try {
    const { trace } = await import('@opentelemetry/api');
    return trace.getTracer('@quern/server');
  } catch {
    return undefined;
  }
}

/** A span of a request, under the names of OpenTelemetry's semantic conventions. */
export const beginSpan = (tracer: Tracer | undefined, method: string, path: string): Span | undefined =>
  tracer?.startSpan(`${method} ${path}`, {
    attributes: { 'http.request.method': method, 'url.path': path },
  });

const [unset, error] = [0, 2] as const; // SpanStatusCode

export function endSpan(span: Span | undefined, status: number, aborted: boolean): void {
  span?.setAttributes({ 'http.response.status_code': status, 'quern.aborted': aborted });
  span?.setStatus({ code: status >= 500 ? error : unset });
  span?.end();
}
