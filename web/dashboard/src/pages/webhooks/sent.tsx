import { useEffect, useState } from 'preact/hooks'
import { Code, CopyButton } from '../../parts/copy.tsx'
import { words } from '../../words/words.ts'
import { headerLines, imageOf, type SentRequest, shownBody } from './sentBody.ts'

const text = words.webhooks

/** The request of a delivery as it was sent: its headers and its body, as text or as an image. */
export function Sent({ sent }: { readonly sent: SentRequest }) {
  const image = useImage(sent)
  const shown = shownBody(sent.body)
  return (
    <div class="section">
      <h3>{text.sent}</h3>
      <div class="block">
        <Code code={headerLines(sent)} what={text.headers} />
      </div>
      {image !== null ? (
        <img class="sent-image" src={image} alt={text.sentImage} />
      ) : (
        <div class="block">
          <Code code={shown.text} what={text.sentBody} />
          <CopyButton value={sent.body} what={text.sentBody} />
        </div>
      )}
      <p class="note">
        {text.sentBytes(sent.bytes)} {shown.isCut && image === null && text.sentCut} {text.noSignature}
      </p>
    </div>
  )
}

/** The address of the image in a request; null: it has none. */
function useImage(sent: SentRequest): string | null {
  const [address, setAddress] = useState<string | null>(null)
  useEffect(() => {
    const image = imageOf(sent)
    const made = image && URL.createObjectURL(image)
    setAddress(made)
    return () => {
      if (made) URL.revokeObjectURL(made)
    }
  }, [sent])
  return address
}
