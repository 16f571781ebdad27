import { err, ok } from '../base/result.ts'
import { failure } from '../core/errors.ts'
import { filedLogs, pipedLog } from './cacheLog/logs.ts'
import { LogReport } from './cacheLog/report.ts'
import { CacheReporter } from './cacheLog/reporter.ts'
import { command } from './command.ts'
import { textFlag, toggleFlag, wholeOr } from './flag.ts'
import { usage } from './refusal.ts'

/** Reports what a cache sent to viewers. It runs beside the cache, and needs neither a configuration nor a store. */
export const cacheLogCommand = command({
  path: ['cache-log'],
  summary: 'Report the bytes in the log of an HLS cache to Sluice, until Ctrl+C',
  detail: [
    'It reads lines of TIME STATUS BYTES PATH from a file, which it follows over rotations, or from standard input. Sluice counts',
    'each line of a file exactly once: it remembers how far a log is counted, so that this command may stop, start and repeat.',
    'Lines on standard input are lost if this command or the server is away. docs/guides/hls-cache.md has the log formats.',
  ].join('\n'),
  flags: {
    file: textFlag('PATH', 'The log; by default standard input.'),
    url: textFlag('URL', 'A node of Sluice; by default http://127.0.0.1:8080.'),
    seconds: wholeOr(2, 'N', 'The time between two reports, in seconds.', { min: 1, max: 60 }),
    once: toggleFlag('Report the file up to its end, and exit.'),
  },
  examples: [
    'sluice cache-log --file /var/log/nginx/hls-bytes',
    'stdbuf -oL varnishncsa -F "%{%s}t %s %O %U" | sluice cache-log --url http://127.0.0.1:8080',
  ],
  run: async ({ flags: { file, url = 'http://127.0.0.1:8080', seconds, once: isOnce }, host }) => {
    if (!URL.canParse(url)) return err(usage('--url must be a URL'))
    if (isOnce && file === undefined) return err(usage('--once requires --file'))
    const stopping = new AbortController()
    const stop = stopping.signal
    void host.stopRequested(null).then(() => stopping.abort())
    const note = (text: string): void => host.stderr(`sluice: ${text}\n`)
    const reporter = new CacheReporter({ url, stop, note })
    const logs = file === undefined ? [pipedLog(process.stdin, stop)] : filedLogs({ path: file, isOnce, stop, note })
    for await (const log of logs) {
      const reported = await new LogReport(log, reporter, { everyMs: seconds * 1000, note }).run()
      if (!reported.ok) return err(failure('unavailable', reported.error))
    }
    return ok({ json: null, text: '' })
  },
})
