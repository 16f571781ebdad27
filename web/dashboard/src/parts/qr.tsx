import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import './qr.css'

interface QrProps {
  readonly value: string
  readonly label: string
}

/** A QR code, of which the script is loaded when the first one is shown. Its place is reserved meanwhile. */
export function Qr(props: QrProps) {
  const [code, setCode] = useState<{ readonly Code: ComponentType<QrProps> } | null>(null)
  useEffect(() => {
    void import('./qrCode.tsx').then(({ QrCode }) => setCode({ Code: QrCode }))
  }, [])
  return code === null ? <span class="qr" /> : <code.Code {...props} />
}
