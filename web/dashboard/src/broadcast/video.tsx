import { useEffect, useRef } from 'preact/hooks'

/** The user's own media, without its audio. */
export function OwnVideo({ media, label }: { readonly media: MediaStream | null; readonly label: string }) {
  const video = useRef<HTMLVideoElement>(null)
  useEffect(() => {
    if (video.current) video.current.srcObject = media
  }, [media])
  return <video ref={video} aria-label={label} muted autoplay playsInline />
}
