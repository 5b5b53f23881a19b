package mujoco

// Version is the version of MuJoCo whose compiled models [ReadModel] reads. Other versions may
// compute other numbers for the same XML.
const Version = "4.0.0"

// Model is a compiled mjModel as data, in MuJoCo's names, order and units. The documentation of
// mjModel describes the arrays; the comments here name only what the engine's code relies on.
type Model struct {
	Version string
	Notes   []string // of the compiler, such as its warnings and what it left out
	// OwnContacts are the pairs of geoms of one tree, the lower index first, that touched in 20 000 random poses;
	// nil if that was not tried.
	OwnContacts [][2]int
	// LinkContacts is the largest number of modelled contacts between links at a time in random rollouts of a second
	// and in control steps from random poses; 0 if there were none, or if that was not tried.
	LinkContacts int
	Activations  []Activation // MuJoCo's act, in its order
	Tendons      []Tendon
	Muscles      []Muscle
	Hulls        []Hull // of each mesh, empty for those that touch nothing
	Fields       []HeightField
	Sizes        Sizes
	Opt          Opt
	Names        Names
	Arrays
}

// What some actuators do with their controls (mjtDyn).
const (
	DynIntegrator  = 1
	DynFilterExact = 3
	DynMuscle      = 4
)

// isMuscle is the type of gains and biases of muscles (mjtGain, mjtBias).
const isMuscle = 2

// Muscle is what MuJoCo derives for an actuator whose gain or bias is a muscle's.
type Muscle struct {
	Actuator    int        `json:"actuator"`
	LengthRange [2]float64 `json:"lengthrange"`
	Acc0        float64    `json:"acc0"` // the norm of the acceleration by a unit force in the pose qpos0
}

// Activation is the state of an actuator with dynamics.
type Activation struct {
	Actuator int        `json:"actuator"`
	Limited  bool       `json:"limited"`
	Range    [2]float64 `json:"range"`
	Early    bool       `json:"early"` // the force is of the next activation
}

// Tendon is a tendon, whose length is the sum of positions of slides and hinges times coefficients, or of the distances
// of pairs of sites, which may lead around geoms. Those of files of older compilers have neither.
type Tendon struct {
	Joints       []int         `json:"joints"`
	Coefs        []float64     `json:"coefs"`
	Segments     []Segment     `json:"segments,omitempty"`
	Length0      float64       `json:"length0"`      // in the pose qpos0
	LengthSpring [2]float64    `json:"lengthspring"` // between these lengths a spring is slack
	Invweight0   float64       `json:"invweight0"`
	Range        [2]float64    `json:"range"` // of its length, if it is limited
	Margin       float64       `json:"margin"`
	SolRef       [2][2]float64 `json:"solref"` // of the limit, and of the friction loss
	SolImp       [2][5]float64 `json:"solimp"`
}

// Segment is a part of a spatial tendon between two sites. A pulley's divisor divides its length.
type Segment struct {
	Sites   [2]int  `json:"sites"`
	Divisor float64 `json:"divisor"`
	Wrap    *Wrap   `json:"wrap,omitempty"` // nil: it is straight
}

// Wrap is what a segment of a tendon wraps around, a sphere or a cylinder, and the site on whose side it passes, or -1.
type Wrap struct {
	Geom     int `json:"geom"`
	SideSite int `json:"sidesite"`
}

// Hull is the convex hull of a mesh, in the frame of its geoms. MuJoCo may find a vertex that is in none of the polygons
// into which it merges triangles; then faces there have no contacts of their own.
type Hull struct {
	Vertices [][3]float64 `json:"vertices"`
	Faces    [][]int      `json:"faces"`   // polygons
	Normals  [][3]float64 `json:"normals"` // of the faces
}

// HeightField is a grid of heights (hfield), centred at the origin of its geoms.
type HeightField struct {
	Size [4]float64 `json:"size"` // half its lengths along x and y, the height where Data is 1, and its depth below 0, m
	Rows int        `json:"nrow"` // along y
	Cols int        `json:"ncol"` // along x
	Data []float64  `json:"data"` // from 0 to 1, row by row
}

// Sizes are the sizes of mjModel.
type Sizes struct {
	NQ        int `mj:"nq"`
	NV        int `mj:"nv"`
	NU        int `mj:"nu"`
	NA        int `mj:"na"`
	NBody     int `mj:"nbody"`
	NJnt      int `mj:"njnt"`
	NGeom     int `mj:"ngeom"`
	NSite     int `mj:"nsite"`
	NPair     int `mj:"npair"`
	NExclude  int `mj:"nexclude"`
	NKey      int `mj:"nkey"`
	NEq       int `mj:"neq"`
	NTendon   int `mj:"ntendon"`
	NFlex     int `mj:"nflex"`
	NMocap    int `mj:"nmocap"`
	NPlugin   int `mj:"nplugin"`
	NActuator int `mj:"nactuator"`
}

// Opt is mjOption.
type Opt struct {
	TimeStep         float64    `mj:"timestep"` // s
	ImpRatio         float64    `mj:"impratio"`
	Tolerance        float64    `mj:"tolerance"`
	LSTolerance      float64    `mj:"ls_tolerance"`
	Gravity          [3]float64 `mj:"gravity"` // m/s^2
	Wind             [3]float64 `mj:"wind"`    // m/s
	Density          float64    `mj:"density"` // kg/m^3
	Viscosity        float64    `mj:"viscosity"`
	Integrator       Integrator `mj:"integrator"`
	Cone             Cone       `mj:"cone"`
	Solver           int        `mj:"solver"`
	Iterations       int        `mj:"iterations"`
	LSIterations     int        `mj:"ls_iterations"`
	NoslipIterations int        `mj:"noslip_iterations"`
	DisableFlags     Disable    `mj:"disableflags"`
	EnableFlags      int        `mj:"enableflags"`
	DisableActuator  int        `mj:"disableactuator"`
}

// Integrator is mjtIntegrator.
type Integrator int

const (
	Euler Integrator = iota
	RK4
	Implicit
	ImplicitFast
)

// Cone is mjtCone: the shape of friction cones.
type Cone int

const (
	Pyramidal Cone = iota
	Elliptic
)

// Disable is a set of mjtDisableBit.
type Disable int

const (
	DisableConstraint Disable = 1 << iota
	DisableEquality
	DisableFrictionLoss
	DisableLimit
	DisableContact
	DisableSpring
	DisableDamper
	DisableGravity
	DisableClampCtrl
	DisableWarmStart
	DisableFilterParent
	DisableActuation
	DisableRefSafe
	DisableSensor
	DisableMidPhase
	DisableEulerDamp
	DisableAutoReset
	DisableNativeCCD
	DisableIsland
	DisableMultiCCD
)

// JointType is mjtJoint.
type JointType int

const (
	Free JointType = iota
	Ball
	Slide
	Hinge
)

// Positions is the number of a joint's elements of qpos.
func (t JointType) Positions() int { return [...]int{7, 4, 1, 1}[t] }

// Dofs is the number of a joint's degrees of freedom.
func (t JointType) Dofs() int { return [...]int{6, 3, 1, 1}[t] }

// GeomType is mjtGeom.
type GeomType int

const (
	Plane GeomType = iota
	HField
	Sphere
	Capsule
	Ellipsoid
	Cylinder
	Box
	Mesh
	SDF
)

// Equality is mjtEq.
type Equality int

const (
	EqualPoints Equality = iota // connect
	EqualFrames                 // weld
	EqualJoints
	EqualTendons
)

// Names holds the names of elements, "" where MuJoCo's file gives none.
type Names struct {
	Body     []string `mj:"body,nbody"`
	Joint    []string `mj:"joint,njnt"`
	Geom     []string `mj:"geom,ngeom"`
	Site     []string `mj:"site,nsite"`
	Actuator []string `mj:"actuator,nactuator"`
	Key      []string `mj:"key,nkey"`
	Plugin   []string `mj:"plugin,nplugin"` // of each instance
}

// Arrays holds the arrays of mjModel. The tag of a field has MuJoCo's name, the size that is the
// number of rows, and the size that is the number of columns if the type does not say it.
type Arrays struct {
	QPos0      []float64 `mj:"qpos0,nq"`
	QPosSpring []float64 `mj:"qpos_spring,nq"`

	BodyParentID   []int        `mj:"body_parentid,nbody"`
	BodyRootID     []int        `mj:"body_rootid,nbody"`
	BodyWeldID     []int        `mj:"body_weldid,nbody"`
	BodyMocapID    []int        `mj:"body_mocapid,nbody"`
	BodyJntNum     []int        `mj:"body_jntnum,nbody"`
	BodyJntAdr     []int        `mj:"body_jntadr,nbody"`
	BodyDofNum     []int        `mj:"body_dofnum,nbody"`
	BodyDofAdr     []int        `mj:"body_dofadr,nbody"`
	BodyPos        [][3]float64 `mj:"body_pos,nbody"`
	BodyQuat       [][4]float64 `mj:"body_quat,nbody"`
	BodyIPos       [][3]float64 `mj:"body_ipos,nbody"`
	BodyIQuat      [][4]float64 `mj:"body_iquat,nbody"`
	BodyMass       []float64    `mj:"body_mass,nbody"`
	BodyInertia    [][3]float64 `mj:"body_inertia,nbody"`
	BodyInvweight0 [][2]float64 `mj:"body_invweight0,nbody"`
	BodyGravComp   []float64    `mj:"body_gravcomp,nbody"`

	JntType          []JointType  `mj:"jnt_type,njnt"`
	JntQPosAdr       []int        `mj:"jnt_qposadr,njnt"`
	JntDofAdr        []int        `mj:"jnt_dofadr,njnt"`
	JntBodyID        []int        `mj:"jnt_bodyid,njnt"`
	JntLimited       []bool       `mj:"jnt_limited,njnt"`
	JntActFrcLimited []bool       `mj:"jnt_actfrclimited,njnt"`
	JntActGravComp   []bool       `mj:"jnt_actgravcomp,njnt"`
	JntSolRef        [][2]float64 `mj:"jnt_solref,njnt"`
	JntSolImp        [][5]float64 `mj:"jnt_solimp,njnt"`
	JntPos           [][3]float64 `mj:"jnt_pos,njnt"`
	JntAxis          [][3]float64 `mj:"jnt_axis,njnt"`
	JntStiffness     []float64    `mj:"jnt_stiffness,njnt"`
	JntStiffnessPoly [][2]float64 `mj:"jnt_stiffnesspoly,njnt"`
	JntSpringYield   []float64    `mj:"jnt_springyield,njnt"`
	JntRange         [][2]float64 `mj:"jnt_range,njnt"`
	JntActFrcRange   [][2]float64 `mj:"jnt_actfrcrange,njnt"`
	JntMargin        []float64    `mj:"jnt_margin,njnt"`

	DofBodyID       []int        `mj:"dof_bodyid,nv"`
	DofJntID        []int        `mj:"dof_jntid,nv"`
	DofParentID     []int        `mj:"dof_parentid,nv"`
	DofSolRef       [][2]float64 `mj:"dof_solref,nv"`
	DofSolImp       [][5]float64 `mj:"dof_solimp,nv"`
	DofFrictionLoss []float64    `mj:"dof_frictionloss,nv"`
	DofArmature     []float64    `mj:"dof_armature,nv"`
	DofDamping      []float64    `mj:"dof_damping,nv"`
	DofDampingPoly  [][2]float64 `mj:"dof_dampingpoly,nv"`
	DofInvweight0   []float64    `mj:"dof_invweight0,nv"`

	GeomType        []GeomType    `mj:"geom_type,ngeom"`
	GeomConType     []int         `mj:"geom_contype,ngeom"`
	GeomConAffinity []int         `mj:"geom_conaffinity,ngeom"`
	GeomConDim      []int         `mj:"geom_condim,ngeom"`
	GeomBodyID      []int         `mj:"geom_bodyid,ngeom"`
	GeomDataID      []int         `mj:"geom_dataid,ngeom"`
	GeomGroup       []int         `mj:"geom_group,ngeom"`
	GeomPriority    []int         `mj:"geom_priority,ngeom"`
	GeomSolMix      []float64     `mj:"geom_solmix,ngeom"`
	GeomSolRef      [][2]float64  `mj:"geom_solref,ngeom"`
	GeomSolImp      [][5]float64  `mj:"geom_solimp,ngeom"`
	GeomSize        [][3]float64  `mj:"geom_size,ngeom"`
	GeomPos         [][3]float64  `mj:"geom_pos,ngeom"`
	GeomQuat        [][4]float64  `mj:"geom_quat,ngeom"`
	GeomFriction    [][3]float64  `mj:"geom_friction,ngeom"`
	GeomMargin      []float64     `mj:"geom_margin,ngeom"`
	GeomGap         []float64     `mj:"geom_gap,ngeom"`
	GeomSurfaceVel  [][6]float64  `mj:"geom_surfacevel,ngeom"`
	GeomAdhesion    []float64     `mj:"geom_adhesion,ngeom"`
	GeomFluid       [][12]float64 `mj:"geom_fluid,ngeom"`
	GeomPlugin      []int         `mj:"geom_plugin,ngeom"`

	SiteBodyID []int        `mj:"site_bodyid,nsite"`
	SiteType   []int        `mj:"site_type,nsite"`
	SitePos    [][3]float64 `mj:"site_pos,nsite"`
	SiteQuat   [][4]float64 `mj:"site_quat,nsite"`
	SiteSize   [][3]float64 `mj:"site_size,nsite"`

	PairDim            []int        `mj:"pair_dim,npair"`
	PairGeom1          []int        `mj:"pair_geom1,npair"`
	PairGeom2          []int        `mj:"pair_geom2,npair"`
	PairSolRef         [][2]float64 `mj:"pair_solref,npair"`
	PairSolRefFriction [][2]float64 `mj:"pair_solreffriction,npair"`
	PairSolImp         [][5]float64 `mj:"pair_solimp,npair"`
	PairMargin         []float64    `mj:"pair_margin,npair"`
	PairGap            []float64    `mj:"pair_gap,npair"`
	PairAdhesion       []float64    `mj:"pair_adhesion,npair"`
	PairFriction       [][5]float64 `mj:"pair_friction,npair"`

	ExcludeSignature []int `mj:"exclude_signature,nexclude"`

	ActuatorTrnType      []int         `mj:"actuator_trntype,nactuator"`
	ActuatorDynType      []int         `mj:"actuator_dyntype,nactuator"`
	ActuatorGainType     []int         `mj:"actuator_gaintype,nactuator"`
	ActuatorBiasType     []int         `mj:"actuator_biastype,nactuator"`
	ActuatorTrnID        [][2]int      `mj:"actuator_trnid,nactuator"`
	ActuatorCtrlNum      []int         `mj:"actuator_ctrlnum,nactuator"`
	ActuatorGainPrm      [][10]float64 `mj:"actuator_gainprm,nactuator"`
	ActuatorBiasPrm      [][10]float64 `mj:"actuator_biasprm,nactuator"`
	ActuatorDynPrm       [][10]float64 `mj:"actuator_dynprm,nactuator"`
	ActuatorGear         [][6]float64  `mj:"actuator_gear,nactuator"`
	ActuatorCtrlLimited  []bool        `mj:"actuator_ctrllimited,nactuator"`
	ActuatorCtrlRange    [][2]float64  `mj:"actuator_ctrlrange,nactuator"`
	ActuatorForceLimited []bool        `mj:"actuator_forcelimited,nactuator"`
	ActuatorForceRange   [][2]float64  `mj:"actuator_forcerange,nactuator"`
	ActuatorDamping      []float64     `mj:"actuator_damping,nactuator"`
	ActuatorDampingPoly  [][2]float64  `mj:"actuator_dampingpoly,nactuator"`
	ActuatorArmature     []float64     `mj:"actuator_armature,nactuator"`
	ActuatorDelay        []float64     `mj:"actuator_delay,nactuator"`
	ActuatorHistory      [][2]int      `mj:"actuator_history,nactuator"`
	ActuatorActNum       []int         `mj:"actuator_actnum,nactuator"`
	ActuatorGroup        []int         `mj:"actuator_group,nactuator"`
	ActuatorPlugin       []int         `mj:"actuator_plugin,nactuator"`

	KeyQPos [][]float64 `mj:"key_qpos,nkey,nq"`
	KeyQVel [][]float64 `mj:"key_qvel,nkey,nv"`
	KeyAct  [][]float64 `mj:"key_act,nkey,na"`
	KeyCtrl [][]float64 `mj:"key_ctrl,nkey,nu"`

	EqType    []Equality    `mj:"eq_type,neq"`
	EqActive0 []bool        `mj:"eq_active0,neq"`
	EqObj1ID  []int         `mj:"eq_obj1id,neq"`
	EqObj2ID  []int         `mj:"eq_obj2id,neq"`
	EqData    [][12]float64 `mj:"eq_data,neq"`
	EqSolRef  [][2]float64  `mj:"eq_solref,neq"`
	EqSolImp  [][5]float64  `mj:"eq_solimp,neq"`

	TendonStiffness     []float64    `mj:"tendon_stiffness,ntendon"`
	TendonStiffnessPoly [][2]float64 `mj:"tendon_stiffnesspoly,ntendon"`
	TendonSpringYield   []float64    `mj:"tendon_springyield,ntendon"`
	TendonDamping       []float64    `mj:"tendon_damping,ntendon"`
	TendonDampingPoly   [][2]float64 `mj:"tendon_dampingpoly,ntendon"`
	TendonFrictionLoss  []float64    `mj:"tendon_frictionloss,ntendon"`
	TendonLimited       []bool       `mj:"tendon_limited,ntendon"`
	TendonArmature      []float64    `mj:"tendon_armature,ntendon"`
	TendonActFrcLimited []bool       `mj:"tendon_actfrclimited,ntendon"`
}
