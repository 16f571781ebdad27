import { generate } from 'lean-qr'
import { pathOf } from './qrPath.ts'

/** The modules of light that scanners need around a code. */
const MARGIN = 4

/** A QR code. Loaded by `qr.tsx` when a page shows one. */
export function QrCode({ value, label }: { readonly value: string; readonly label: string }) {
  const code = generate(value)
  const side = code.size + 2 * MARGIN
  return (
    <svg class="qr" viewBox={`${-MARGIN} ${-MARGIN} ${side} ${side}`} role="img" aria-label={label}>
      <path fill="currentColor" shape-rendering="crispEdges" d={pathOf(code)} />
    </svg>
  )
}
