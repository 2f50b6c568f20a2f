//! The vision models of tch, at two batch sizes.

mod python {
    use tch::nn::{self, ModuleT};
    use tch::vision::{alexnet, convmixer, densenet, efficientnet, inception, mobilenet, resnet, squeezenet, vgg};
    use tch::{Device, Tensor};

    use crate::runtime::python::compare;
    use crate::runtime::randn;

    type Made = Box<dyn ModuleT>;

    fn compared(make: impl FnOnce(&nn::Path) -> Made, size: i64) {
        let vs = nn::VarStore::new(Device::Cpu);
        let net = make(&vs.root());
        let closure = |xs: &[Tensor]| vec![net.forward_t(&xs[0], false)];
        let inputs = vec![vec![randn(&[1, 3, size, size])], vec![randn(&[2, 3, size, size])]];
        compare(&vs, &closure, inputs, |model| model.dynamic(0, 0, "batch"));
    }

    #[test]
    fn resnet18() {
        compared(|vs| Box::new(resnet::resnet18(vs, 10)), 64);
    }

    #[test]
    fn resnet50() {
        compared(|vs| Box::new(resnet::resnet50(vs, 10)), 64);
    }

    #[test]
    fn vgg11() {
        compared(|vs| Box::new(vgg::vgg11(vs, 10)), 224);
    }

    #[test]
    fn densenet121() {
        compared(|vs| Box::new(densenet::densenet121(vs, 10)), 224);
    }

    #[test]
    fn efficientnet_b0() {
        compared(|vs| Box::new(efficientnet::b0(vs, 10)), 64);
    }

    #[test]
    fn mobilenet_v2() {
        compared(|vs| Box::new(mobilenet::v2(vs, 10)), 64);
    }

    #[test]
    fn squeezenet1_1() {
        compared(|vs| Box::new(squeezenet::v1_1(vs, 10)), 64);
    }

    #[test]
    fn alexnet() {
        compared(|vs| Box::new(alexnet::alexnet(vs, 10)), 224);
    }

    #[test]
    fn inception_v3() {
        compared(|vs| Box::new(inception::v3(vs, 10)), 107);
    }

    #[test]
    fn convmixer() {
        compared(|vs| Box::new(convmixer::c1024_20(vs, 10)), 56);
    }
}
