import type { Environment } from './environment.ts'

/** One layer of simulcast. */
export interface ViewerLayer {
  readonly encodingId: string
  /** In pixels; 0: not known yet. */
  readonly width: number
  readonly height: number
  /** Bits per second; 0: the layer pauses. */
  readonly bitrate: number
}

/** The layers of what is watched, the largest first. `chosen` null: the bandwidth decides. `sent`: the one that comes now. */
export interface ViewerLayers {
  readonly layers: readonly ViewerLayer[]
  readonly chosen: string | null
  readonly sent: string | null
}

/** Asks a session's resource for its layers, or chooses one. Null: the server refuses, or does not know layers. */
export async function layersOf(
  { fetch }: Environment,
  resource: string,
  choice: string | null | undefined,
): Promise<ViewerLayers | null> {
  const body = JSON.stringify(choice === null ? {} : { encodingId: choice })
  const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
  const response = await fetch(`${resource}/layer`, choice === undefined ? { method: 'GET' } : post)
  return response.ok ? ((await response.json()) as ViewerLayers) : null
}
