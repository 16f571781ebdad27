import { openSplice } from '../edge/http/hls/spliceProof.ts'
import type { App } from './app.ts'

/** Keeps segments where the addon sends them from, if it works here. Else leaves a line in the log. */
export async function useSplice({ config, ctx, segmentMemory }: App): Promise<void> {
  if (!config.server.splice) return
  const opened = await openSplice()
  if (opened.ok) segmentMemory.use(opened.value)
  else ctx.log.info({}, `${opened.error} Segments are copied.`)
}
