// The stage: draws a film with three.js. z is up.
import {
  Box3, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, DirectionalLight, DoubleSide, Fog, Group, HemisphereLight, Mesh,
  MeshBasicMaterial, MeshLambertMaterial, MeshPhongMaterial, PCFSoftShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion, Scene,
  SphereGeometry, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const themes = {
  light: { sky: 0xdde6ef, top: 0xffffff, below: 0xa8adb5, tiles: [0xcfd3da, 0xbfc4cc], path: 0xd9480f, sun: 2.1, fill: 1.75 },
  dark: { sky: 0x171d25, top: 0xcdd9ea, below: 0x3a3f48, tiles: [0x383d45, 0x2c3138], path: 0xff8a4c, sun: 2.2, fill: 1.35 },
};

// checkered gives a material tiles and filters them analytically: each pixel is the mean over its
// footprint. A filtered texture takes five times as long without a graphics processor. Tiles are
// the product of two square waves. The mean of a square wave is the difference of its integral, a
// triangular wave, over the footprint.
function checkered(material) {
  material.userData.tiles = { value: [new Color(), new Color()] };
  material.userData.perMetre = { value: 1 };
  material.onBeforeCompile = (shader) => {
    shader.uniforms.tiles = material.userData.tiles;
    shader.uniforms.perMetre = material.userData.perMetre;
    shader.vertexShader = "varying vec2 tilePoint;\nuniform float perMetre;\n" + shader.vertexShader.replace("#include <begin_vertex>",
      "#include <begin_vertex>\n tilePoint = (modelMatrix * vec4(position, 1.)).xy * perMetre;");
    shader.fragmentShader = "varying vec2 tilePoint;\nuniform vec3 tiles[2];\nvec2 triangle(vec2 p) { return abs(fract(.5 * p) - .5); }\n" + shader.fragmentShader.replace("#include <color_fragment>", `
      vec2 covered = fwidth(tilePoint) + 1e-4;
      vec2 wave = 2. * (triangle(tilePoint + .5 * covered) - triangle(tilePoint - .5 * covered)) / covered;
      diffuseColor.rgb *= mix(tiles[0], tiles[1], .5 - .5 * wave.x * wave.y);`);
  };
  return material;
}

const groundSize = 600; // metres

export class Stage {
  constructor(canvas, embedded) {
    this.canvas = canvas;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "low-power" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFSoftShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(38, 1, .05, 2000);
    this.camera.up.set(0, 0, 1);
    this.sky = new HemisphereLight();
    this.sky.position.set(0, 0, 1); // three.js has y up
    this.sun = new DirectionalLight(0xfff4e6, 2);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(1024, 1024);
    this.sun.shadow.bias = -.0008;
    this.sun.shadow.normalBias = .02;
    this.ground = new Mesh(new PlaneGeometry(groundSize, groundSize), checkered(new MeshLambertMaterial()));
    this.ground.receiveShadow = true;
    this.scene.add(this.sky, this.sun, this.sun.target, this.ground);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.maxPolarAngle = Math.PI * .497; // not below the ground
    this.controls.minDistance = .3;
    this.controls.maxDistance = 400;
    this.controls.zoomSpeed = .8;
    if (embedded) {
      // In a notebook the wheel and vertical swipes scroll the notebook until the reader interacts with the stage.
      this.controls.enableZoom = false;
      canvas.style.touchAction = "pan-y";
      canvas.addEventListener("pointerdown", () => { this.controls.enableZoom = true; });
      canvas.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse" && !e.buttons) this.controls.enableZoom = false; });
    }
    this.sets = new Map();
    this.following = true;
    this.target = new Vector3();
    this.path = new Group();
    this.scene.add(this.path);
    this.slerp = [new Quaternion(), new Quaternion()];
  }

  theme(name) {
    const t = themes[name];
    this.colors = t;
    this.scene.background = new Color(t.sky);
    this.scene.fog = new Fog(t.sky, 10, 60);
    this.sky.color.set(t.top);
    this.sky.groundColor.set(t.below);
    this.sky.intensity = t.fill;
    this.sun.intensity = t.sun;
    t.tiles.forEach((color, i) => this.ground.material.userData.tiles.value[i].set(color));
    this.paint();
  }

  // build creates the meshes of a set of bodies, once.
  build(set) {
    if (this.sets.has(set)) return this.sets.get(set);
    const root = new Group(), moving = [];
    const materials = new Map();
    let thinner = 1;
    for (const body of set.bodies) {
      const group = new Group();
      thinner -= body.fixed ? 0 : .0015; // if two capsules end in the same ball, only one is visible
      for (const s of body.shapes) {
        const key = s.c + s.o;
        if (!materials.has(key)) {
          materials.set(key, new MeshPhongMaterial({ color: s.c, specular: 0x1c1c1c, shininess: 24, transparent: s.o < 1, opacity: s.o }));
        }
        const mesh = new Mesh(geometry(s, thinner), materials.get(key));
        const a = new Vector3(...s.a), b = new Vector3(...s.b);
        mesh.position.copy(a).add(b).multiplyScalar(.5);
        if (!s.box && a.distanceTo(b) > 1e-9) {
          mesh.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), b.sub(a).normalize());
        }
        mesh.castShadow = s.o === 1;
        mesh.receiveShadow = true;
        group.add(mesh);
      }
      if (body.fixed) {
        group.position.set(...body.at);
        group.quaternion.set(body.turned[1], body.turned[2], body.turned[3], body.turned[0]);
      } else {
        moving.push(group);
      }
      root.add(group);
    }
    const built = { root, moving };
    this.sets.set(set, built);
    return built;
  }

  // show puts a film on the stage and keeps the camera relative to the followed body.
  show(film, set, motion) {
    const built = this.build(set);
    if (this.built !== built) {
      if (this.built) this.scene.remove(this.built.root);
      this.scene.add(built.root);
      this.built = built;
    }
    const first = !this.film;
    this.film = film;
    this.set = set;
    this.motion = motion;
    this.ground.visible = set.ground;
    const before = this.target.clone();
    this.gone = null;
    this.pose(0);
    this.measure();
    this.pose(0);
    this.ground.material.userData.perMetre.value = this.size < .2 ? 5 : 1;
    this.sun.shadow.normalBias = .02 * Math.min(1, this.size);
    if (first) {
      this.home();
    } else if (this.following) {
      this.shift(before);
    } else {
      this.overview();
    }
    this.layPath();
  }

  // measure computes the initial size of the robot and the height of its middle.
  measure() {
    const box = new Box3();
    const f = this.built.moving[this.film.follow].position;
    for (const group of this.built.moving) {
      group.updateMatrixWorld(true);
      if (group.children.length && group.position.distanceTo(f) < 5) box.expandByObject(group);
    }
    if (box.isEmpty()) box.setFromCenterAndSize(f, new Vector3(.2, .2, .2));
    this.size = Math.max(.05, box.getSize(new Vector3()).length() / 2);
    this.middle = box.getCenter(new Vector3()).z;
  }

  // pose moves the bodies to a time in frames, with interpolation between frames.
  pose(time) {
    const { motion, built, film } = this;
    const t = Math.min(Math.max(time, 0), motion.frames - 1);
    const i = Math.min(Math.floor(t), Math.max(0, motion.frames - 2)), part = motion.frames > 1 ? t - i : 0;
    const n = motion.bodies, p = motion.positions, r = motion.rotations, [qa, qb] = this.slerp;
    const next = motion.frames > 1 ? i + 1 : i;
    for (let b = 0; b < n; b++) {
      const group = built.moving[b];
      const a = (i * n + b) * 3, c = (next * n + b) * 3, qi = (i * n + b) * 4, qj = (next * n + b) * 4;
      group.position.set(p[a] + (p[c] - p[a]) * part, p[a + 1] + (p[c + 1] - p[a + 1]) * part, p[a + 2] + (p[c + 2] - p[a + 2]) * part);
      qa.set(r[qi + 1], r[qi + 2], r[qi + 3], r[qi]);
      qb.set(r[qj + 1], r[qj + 2], r[qj + 3], r[qj]);
      group.quaternion.slerpQuaternions(qa, qb, part);
    }
    const f = built.moving[film.follow].position;
    // The camera follows only a part of the vertical motion, for a calmer view.
    this.target.set(f.x, f.y, this.middle + .25 * (f.z - motion.positions[film.follow * 3 + 2]));
    if (this.gone) {
      this.gone.geometry.setDrawRange(0, this.ends[Math.floor(t + 1e-6)]);
    }
  }

  // layPath draws the trajectory of the followed body on the ground: the whole of it faint, the part so far strong.
  layPath() {
    for (const old of this.path.children) {
      old.geometry.dispose();
      old.material.dispose();
    }
    this.path.clear();
    const m = this.motion, points = [], counts = [];
    const width = Math.min(.04 * Math.max(this.size, .2), .05);
    for (let t = 0; t < m.frames; t++) {
      const p = [0, 0]; // the mean of a few steps, because a shaking robot would blur its trajectory
      const around = this.lone() ? 0 : 3;
      const from = Math.max(0, t - around), to = Math.min(m.frames - 1, t + around);
      for (let k = from; k <= to; k++) {
        const at = (k * m.bodies + this.film.follow) * 3;
        p[0] += m.positions[at] / (to - from + 1);
        p[1] += m.positions[at + 1] / (to - from + 1);
      }
      const last = points[points.length - 1];
      if (!last || Math.hypot(p[0] - last[0], p[1] - last[1]) > Math.max(1.5 * width, .07 * this.size)) points.push(p);
      counts.push(points.length);
    }
    this.gone = null;
    if (points.length < 2) return;
    // A disc at each point and a bar from the last point to it make an even line, however sharp its turns.
    const corner = 12, corners = [], indices = [], ends = [];
    points.forEach(([x, y], i) => {
      const first = corners.length / 3;
      corners.push(x, y, .006);
      for (let k = 0; k < corner; k++) {
        const angle = 2 * Math.PI * k / corner;
        corners.push(x + width * Math.cos(angle), y + width * Math.sin(angle), .006);
        indices.push(first, first + 1 + k, first + 1 + (k + 1) % corner);
      }
      if (i) {
        const [px, py] = points[i - 1], d = Math.hypot(x - px, y - py) || 1;
        const ox = -(y - py) / d * width, oy = (x - px) / d * width, bar = corners.length / 3;
        corners.push(px + ox, py + oy, .006, px - ox, py - oy, .006, x + ox, y + oy, .006, x - ox, y - oy, .006);
        indices.push(bar, bar + 1, bar + 2, bar + 2, bar + 1, bar + 3);
      }
      ends.push(indices.length);
    });
    this.ends = counts.map((n) => ends[n - 1]); // number of triangle indices of the part so far, by frame
    for (const strong of [false, true]) {
      const g = new BufferGeometry();
      g.setAttribute("position", new BufferAttribute(new Float32Array(corners), 3));
      g.setIndex(indices);
      const material = new MeshBasicMaterial({
        side: DoubleSide, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -2,
      });
      const mesh = new Mesh(g, material);
      mesh.frustumCulled = false;
      mesh.renderOrder = strong ? 2 : 1;
      mesh.userData.strong = strong;
      this.path.add(mesh);
      this.gone = mesh;
    }
    this.paint();
  }

  // paint sets the colours of the trajectory.
  paint() {
    for (const mesh of this.path.children) {
      mesh.material.color.set(this.colors.path);
      if (!mesh.userData.strong) mesh.material.color.lerp(new Color(this.colors.tiles[0]), .68);
    }
  }

  // shift moves the camera with its target.
  shift(before) {
    const d = this.target.clone().sub(before);
    this.camera.position.add(d);
    this.controls.target.add(d);
    this.far = null;
  }

  // advance calls pose and moves the camera if it follows the robot.
  advance(time) {
    const before = this.target.clone();
    this.pose(time);
    if (this.following) this.shift(before);
  }

  follow(on) {
    this.following = on;
    if (!on) return;
    // Keep the direction, and limit the distance to that of the home view.
    const offset = this.camera.position.clone().sub(this.controls.target);
    offset.setLength(Math.min(offset.length(), this.distance()));
    this.controls.target.copy(this.target);
    this.camera.position.copy(this.target).add(offset);
  }

  // distance returns the camera distance at which the robot fills a good part of the picture.
  distance() {
    const narrow = Math.min(1, this.camera.aspect);
    return this.size * 4.4 / Math.max(narrow, .6);
  }

  // lone reports whether only a single shape moves, which is uninformative by itself.
  lone() {
    const shapes = this.set.bodies.filter((b) => !b.fixed).flatMap((b) => b.shapes);
    return shapes.length < 2;
  }

  // home looks along y, with x to the right as on the map.
  home() {
    if (this.lone()) {
      this.overview();
      return;
    }
    this.following = true;
    const turned = this.film.standing ? -.22 : -.35, up = this.film.standing ? .22 : .5;
    this.place(this.target, this.distance(), turned, up);
  }

  place(at, distance, turned, up) {
    this.controls.target.copy(at);
    this.camera.position.set(Math.sin(turned) * Math.cos(up), -Math.cos(turned) * Math.cos(up), Math.sin(up)).multiplyScalar(distance).add(at);
    this.camera.lookAt(at);
  }

  // overview shows the whole trajectory and the walls around it.
  overview() {
    this.following = false;
    const [low, high] = this.film.extent.map((v) => v.slice());
    const length = Math.max(high[0] - low[0], high[1] - low[1], 1);
    for (const body of this.set.bodies) {
      if (!body.fixed) continue;
      for (const s of body.shapes) {
        for (const corner of [s.a, s.b]) {
          const p = [0, 1, 2].map((d) => corner[d] + body.at[d]);
          if (p.some((v, d) => d < 2 && (v < low[d] - 6 * length || v > high[d] + 6 * length))) continue;
          if (!s.box && !this.film.standing || s.box) {
            for (let d = 0; d < 2; d++) {
              low[d] = Math.min(low[d], p[d]);
              high[d] = Math.max(high[d], p[d]);
            }
          }
        }
      }
    }
    const margin = this.size;
    const center = new Vector3((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, this.film.standing ? this.middle : 0);
    const half = Math.tan(this.camera.fov / 2 * Math.PI / 180);
    const x = (high[0] - low[0]) / 2 + margin, y = (high[1] - low[1]) / 2 + margin;
    const distance = Math.max(x / (half * this.camera.aspect) + y * .75, y * 1.08 / half, 2 * this.size);
    this.place(center, distance, this.film.standing ? -.1 : 0, this.film.standing ? .16 : 1.02);
  }

  resize(width, height, ratio) {
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(1, height);
    this.camera.updateProjectionMatrix();
  }

  render() {
    const { camera, controls, sun } = this;
    this.updating = true;
    controls.update();
    this.updating = false;
    const distance = camera.position.distanceTo(controls.target);
    this.scene.fog.near = Math.max(14, distance * 2);
    this.scene.fog.far = Math.max(70, distance * 7);
    camera.near = Math.max(.02, distance / 200);
    camera.far = Math.max(200, distance * 12);
    camera.updateProjectionMatrix();
    // The ground moves along in whole steps, so that its pattern keeps its precision.
    this.ground.position.set(2 * Math.round(controls.target.x / 2), 2 * Math.round(controls.target.y / 2), 0);
    const at = this.following ? this.target : controls.target;
    const reach = Math.max(this.size * 3, Math.min(distance * .8, 40));
    const grain = reach / 512; // moving by whole texels of the shadow map keeps shadows stable
    sun.target.position.set(Math.round(at.x / grain) * grain, Math.round(at.y / grain) * grain, 0);
    sun.position.set(-.45, -.55, 1.15).multiplyScalar(reach * 2).add(sun.target.position);
    const c = sun.shadow.camera;
    if (c.right !== reach) {
      c.left = c.bottom = -reach;
      c.right = c.top = reach;
      c.near = .1;
      c.far = reach * 6;
      c.updateProjectionMatrix();
    }
    this.renderer.render(this.scene, camera);
  }
}

function geometry(s, thinner) {
  if (s.box) return new BoxGeometry(...[0, 1, 2].map((d) => Math.abs(s.b[d] - s.a[d])));
  const length = Math.hypot(s.b[0] - s.a[0], s.b[1] - s.a[1], s.b[2] - s.a[2]);
  if (length < 1e-9) return new SphereGeometry(s.r * thinner, 40, 24);
  return new CapsuleGeometry(s.r * thinner, length, 12, 32);
}
