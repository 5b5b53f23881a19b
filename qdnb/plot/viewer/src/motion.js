// Decodes the output of pack in encode.go: the poses of a film's moving bodies.

export async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// rotate adds the vector (x, y, z), rotated by the quaternion at r[i] (w, x, y, z), to out.
function rotate(r, i, x, y, z, out) {
  const w = r[i], a = r[i + 1], b = r[i + 2], c = r[i + 3];
  const u = 2 * (b * z - c * y), v = 2 * (c * x - a * z), t = 2 * (a * y - b * x);
  out[0] += x + w * u + b * t - c * v;
  out[1] += y + w * v + c * u - a * t;
  out[2] += z + w * t + a * v - b * u;
}

// Motion holds poses: positions [frame][body][3] and rotations [frame][body][4], flat.
export class Motion {
  constructor(bytes, film) {
    const { bodies, frames, step, origin } = film;
    this.frames = frames;
    this.bodies = bodies;
    this.positions = new Float64Array(frames * bodies * 3);
    this.rotations = new Float64Array(frames * bodies * 4);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    let at = bodies * 8 * 4;
    const channel = () => {
      const order = bytes[at];
      const values = new Int16Array(frames);
      let last = 0, slope = 0;
      for (let t = 0; t < frames; t++) {
        const c = bytes[at + 1 + t] | (bytes[at + 1 + frames + t] << 8);
        const d = (c >>> 1) ^ -(c & 1);
        values[t] = d + (order === 0 ? 0 : order === 1 ? last : last + slope);
        if (t > 0) slope = values[t] - last;
        last = values[t];
      }
      at += 1 + 2 * frames;
      return values;
    };
    const p = [0, 0, 0];
    for (let b = 0; b < bodies; b++) {
      const [to, redundant, ...link] = Array.from({ length: 8 }, (_, i) => view.getFloat32((8 * b + i) * 4, true));
      const without = Math.abs(redundant) - 1;
      const q = [0, 1, 2, 3].map((k) => k === without ? new Float64Array(frames) : channel());
      if (without >= 0) {
        const one = 1 / film.turn; // in units of the channels
        for (let t = 0; t < frames; t++) {
          const rest = q.reduce((sum, c, k) => k === without ? sum : sum + c[t] * c[t], 0);
          q[without][t] = Math.sign(redundant) * Math.sqrt(Math.max(0, one * one - rest));
        }
      }
      const d = [channel(), channel(), channel()];
      for (let t = 0; t < frames; t++) {
        const i = (t * bodies + b) * 4;
        const n = Math.hypot(q[0][t], q[1][t], q[2][t], q[3][t]) || 1;
        for (let k = 0; k < 4; k++) this.rotations[i + k] = q[k][t] / n;
        const j = (t * bodies + b) * 3;
        if (to >= 0) {
          const a = t * bodies + to;
          for (let k = 0; k < 3; k++) p[k] = this.positions[a * 3 + k];
          rotate(this.rotations, a * 4, link[0], link[1], link[2], p);
          rotate(this.rotations, i, link[3], link[4], link[5], p);
        } else {
          for (let k = 0; k < 3; k++) p[k] = origin[k];
        }
        for (let k = 0; k < 3; k++) this.positions[j + k] = p[k] + d[k][t] * step;
      }
    }
    this.sums = null; // cumulative reward at each frame
    if (film.reward) this.sums = Float64Array.from(channel(), (v) => v * film.reward);
  }
}
